"""The four lessons, in order: their words, controls and formulas.

Entry points: `LESSONS` and `lesson`.
"""

from __future__ import annotations

from layouts.learn.lesson import Choice, Lesson, Number

SHAPES = (
    ("flame", "Flame"),
    ("jain", "Jain"),
    ("pathbased", "Pathbased"),
    ("spiral", "Spiral"),
    ("aggregation", "Aggregation"),
)
TIGHT = "tight"
_SEED = Number("seed", "Seed", 0, 0, 2**32 - 1, whole=True)
_SIGMA_LOW, _SIGMA_HIGH = 0.01, 1e6

FROZEN = Lesson(
    name="frozen",
    title="Frozen",
    summary="Below a bandwidth that the data alone decide, no point can move.",
    words=(
        "With a very small bandwidth σ every point is alone: the kernel sees no two points as similar, and kernel "
        "{k}-means keeps whatever clustering it is given. Theorem 1 says how small is too small, from the closest "
        "two points. Move σ across that bound and see when one step of kernel {k}-means first moves a point. In "
        "the paper’s tight example a point {y} leaves within a constant factor of the bound, so no bound of this form "
        "can be much larger."
    ),
    controls=(
        Choice("data", "Data", (*SHAPES, (TIGHT, "Tight example")), "flame"),
        _SEED,
        Number("n", "Points", 24, 8, 64, whole=True, step=8),
    ),
    panels=("One step of kernel k-means", "Points that move"),
    stepper="Bandwidth σ",
    formulas=(
        ("κ({x}, {y}) = exp(−‖{x} − {y}‖^(2) / σ)", "section 3, the kernel"),
        ("σ ≤ min ‖{x} − {y}‖^(2) / log(3{n})   ⇒   no point moves", "Theorem 1"),
        ("at the bound   max κ({x}, {y}) = 1 / (3{n})", "equation (12), in the proof"),
    ),
)

LLOYD = Lesson(
    name="lloyd",
    title="Lloyd in feature space",
    summary="Kernel k-means, one iteration at a time, and the objective that it lowers.",
    words=(
        "Kernel {k}-means is Lloyd’s algorithm in the feature space of the kernel: every point goes to the "
        "cluster whose centroid is nearest there, all points at once. The centroids are never computed. Sums of "
        "kernel entries are enough, and they decide the shape of the clusters. Each step lowers the objective, so "
        "a clustering that was left never comes back, and the walk must end."
    ),
    controls=(
        Choice("data", "Data", SHAPES, "flame"),
        Number("sigma", "Bandwidth σ", 2.0, _SIGMA_LOW, _SIGMA_HIGH, step=1.0),
        _SEED,
    ),
    panels=("The clustering, points that moved ringed", "Objective"),
    formulas=(
        (
            "δ({x}, {m}_(i)) = 2 Σ_(y∈i) κ({x}, {y}) / {n}_(i) − Σ_(y,z∈i) κ({y}, {z}) / {n}_(i)^(2)",
            "equation (4), the proximity",
        ),
        ("each {x} moves to the cluster {i} of largest δ({x}, {m}_(i))", "section 5.1"),
        ("objective = Σ_(i) Σ_(x∈i) ‖φ({x}) − {m}_(i)‖^(2)", "equations (1) and (2)"),
    ),
)

POWERS = Lesson(
    name="powers",
    title="Powers from square roots",
    summary="Algorithm 1: any power of a number from products and square roots.",
    words=(
        "Square roots and products are much cheaper than powers. Algorithm 1 builds any power from them, by "
        "walking a fraction {n}/{d} towards the exponent. Each round takes the square root of the last root and "
        "doubles {d}; then it multiplies or divides by the root, whichever brings {n}/{d} nearer. After {i} "
        "rounds the exponent is off by 2^(−i) at most. Theorem 2 turns that into a band around the power."
    ),
    controls=(
        Number("base", "Base {b}", 10.0, 1e-6, 1e6),
        Number("exponent", "Exponent {p}", 2.3, 0.0, 40.0, step=0.1),
        Number("depth", "Depth (rounds)", 12, 1, 40, whole=True),
    ),
    panels=("n/d against its target", "Relative error"),
    stepper="Round",
    formulas=(
        ("{p} = {z} + {f},   {b}^(p) ≈ {b}^(z) {b}^(n/d)", "Algorithm 1"),
        ("{n}/{d} = Σ_(j) {m}_(j) 2^(−j),   {m}_(j) = ±1", "Lemma 2"),
        ("after {i} rounds the result lies between {b}^(p−ε) and {b}^(p+ε), ε = 2^(−i)", "Theorem 2, in the proof"),
    ),
)

CRITICAL = Lesson(
    name="critical",
    title="Hunting the critical value",
    summary="Three methods look for the next bandwidth at which the clustering changes.",
    words=(
        "Kernel {k}-means has converged. As σ grows, the clustering holds for a while, then a first point moves: "
        "that σ is the critical value. Bisection starts from a huge interval. The dyadic search, the paper’s Algorithm "
        "2, takes powers of the kernel by square roots. The certified search proves whole intervals quiet, and looks "
        "again at the points that it cannot rule out. All three end at the same value; what differs is how much of the "
        "kernel they had to compute."
    ),
    controls=(
        Choice("data", "Data", SHAPES, "flame"),
        Number("sigma", "Start at σ", 5.0, _SIGMA_LOW, 1e5, step=1.0),
        _SEED,
        Number("depth", "Depth of the dyadic search", 10, 1, 20, whole=True),
        Choice("axis", "Axis", (("near", "Near the value"), ("whole", "All looks")), "near"),
    ),
    panels=("Looks at the kernel, and what is known to be quiet", "Width of the bracket"),
    wide=True,
    formulas=(
        ("{K}_(σ') = {K}_(σ)^(σ/σ'), entry by entry", "section 5.1"),
        ("exponent {n}/{d}: double both, then {n} ± 1 as the last query moved a point or not", "Algorithm 2"),
        (
            "Σ exp({t}{L}) is convex in {t} = 1/σ: above its tangents, below its chord",
            "not in the paper: why intervals can be certified",
        ),
    ),
)

LESSONS = (FROZEN, LLOYD, POWERS, CRITICAL)


def lesson(name: str) -> Lesson:
    """Return the lesson of a name."""
    return next(one for one in LESSONS if one.name == name)
