"""What the methods do step by step, with every number on the way: for teaching, and for seeing what they cost.

Entry points: `frozen_zone` and `tight_example_zone` (Theorem 1), `lloyd_steps` (kernel k-means), `power_rounds`
(Algorithm 1), `hunts` (the critical value by three methods). Each is computed whole with the library's own pieces.
"""

from __future__ import annotations

from offgrid.traces.frozen import FrozenZone, frozen_zone, tight_example_zone
from offgrid.traces.hunts import Hunt, Hunts, Query, hunts
from offgrid.traces.lloyd import LloydStep, LloydSteps, lloyd_steps
from offgrid.traces.powers import PowerRound, PowerRounds, power_rounds

__all__ = [
    "FrozenZone",
    "Hunt",
    "Hunts",
    "LloydStep",
    "LloydSteps",
    "PowerRound",
    "PowerRounds",
    "Query",
    "frozen_zone",
    "hunts",
    "lloyd_steps",
    "power_rounds",
    "tight_example_zone",
]
