"""The settings for the kernel.

Entry points: `kernel_section`, and what callbacks write into it: `kernel_note` and `hidden_fields`.
"""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from layouts import ids
from layouts.parts import DEFINITIONS, choices, field, help_mark, select, settings_section
from layouts.views import SettingsView

SUM = "sum"
KINDS = (("rbf", "RBF"), ("laplacian", "Laplacian"), ("polynomial", "Poly"), (SUM, "Sum"))
NAMES = (("rbf", "RBF, σ"), ("laplacian", "Laplacian, σ"), ("polynomial", "Polynomial, degree"))
FORMULAS = {
    "rbf": "exp(−‖x−y‖²/σ)",
    "laplacian": "exp(−‖x−y‖₁/σ)",
    "polynomial": "(xᵀy + c)ᵈ, d is searched",
    SUM: "searched + weight × fixed",
}
TERMS = {"rbf": "Kernel", "laplacian": "Laplacian", "polynomial": "Polynomial", SUM: "Kernel sum"}
# What a sum starts from: half a broad Laplacian.
USUAL_TERM = (0.5, "laplacian", 1.0)


def kernel_section(view: SettingsView) -> Component:
    """Return the choice of the kernel, with the fields that some kinds need."""
    kind = view.kernel if view.plus is None else SUM
    weight, added, value = view.plus or USUAL_TERM
    hidden = hidden_fields(kind, view.kernel, added)
    return settings_section(
        "Kernel",
        "What “close” means. RBF suits most data.",
        [
            dmc.SegmentedControl(
                id=ids.KERNEL, data=choices(KINDS), value=kind, fullWidth=True, **{"aria-label": "Kernel"}
            ),
            html.Div(kernel_note(kind), id=ids.KERNEL_NOTE, className="formula-line"),
            html.Div(
                id=ids.SUM_FIELD,
                hidden=hidden[ids.SUM_FIELD],
                children=[
                    field("Searched", select(ids.SUM_KERNEL, NAMES, view.kernel, "Kernel that is searched")),
                    field("Fixed", select(ids.PLUS_KERNEL, NAMES, added, "Kernel that is added and stays as it is")),
                    html.Div(
                        className="field-pair",
                        children=[
                            field("Its weight", _positive(ids.PLUS_WEIGHT, weight, "Weight of the fixed kernel")),
                            field("Its σ or degree", _positive(ids.PLUS_VALUE, value, "Parameter of the fixed kernel")),
                        ],
                    ),
                ],
            ),
            field(
                "Constant c",
                dmc.NumberInput(id=ids.OFFSET, value=view.offset, hideControls=True, **{"aria-label": "Constant c"}),
                wrapper_id=ids.OFFSET_FIELD,
                hidden=hidden[ids.OFFSET_FIELD],
                help_text="Added to each product xᵀy, and large enough that every sum is above 0.",
            ),
        ],
    )


def kernel_note(kind: str) -> list[Component]:
    """Return the kernel's formula, with its definition behind a question mark."""
    return [html.Span(FORMULAS[kind], className="formula"), help_mark(TERMS[kind], DEFINITIONS[TERMS[kind]])]


def hidden_fields(kind: str, searched: str, added: str) -> dict[str, bool]:
    """Return for each wrapper whether it is hidden."""
    named = (searched, added) if kind == SUM else (kind,)
    return {ids.SUM_FIELD: kind != SUM, ids.OFFSET_FIELD: "polynomial" not in named}


def _positive(component_id: str, value: float, label: str) -> Component:
    return dmc.NumberInput(id=component_id, value=value, min=0, hideControls=True, **{"aria-label": label})
