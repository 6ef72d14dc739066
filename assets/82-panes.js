/* Drawing the clusterings: after the path, and one after the other, so that keys and clicks come in between. */
(function () {
    "use strict";

    /* Figures wait here for their turn, one for each pane: the latest. */
    const undrawn = new Map();
    let drawing = false;

    function byWebGL(data) {
        return data.some((trace) => trace.type === "scattergl");
    }

    /* A graph that stays is drawn anew, unless it goes over to WebGL or back, where plotly.js keeps what it had. */
    function draw(pane, graph) {
        const before = document.querySelector(`#${pane}-graph .js-plotly-plot`);
        if (before && graph.props && byWebGL(before.data) === byWebGL(graph.props.figure.data)) {
            window.dash_clientside.set_props(graph.props.id, {figure: graph.props.figure});
        } else if (document.getElementById(`${pane}-frame`)) {
            window.dash_clientside.set_props(`${pane}-frame`, {children: graph.props ? graph : null});
        }
    }

    function painted() {
        return new Promise((resolve) => window.requestAnimationFrame(() => window.setTimeout(resolve, 0)));
    }

    async function drawAll() {
        drawing = true;
        try {
            while (undrawn.size) {
                const [pane, graph] = undrawn.entries().next().value;
                undrawn.delete(pane);
                draw(pane, graph);
                await painted();
            }
        } finally {
            drawing = false;
        }
    }

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        /* The path comes first: the clusterings are asked for once it is on the screen. */
        awaitPath(_figure, drawn) {
            if (drawn) {
                return window.dash_clientside.no_update;
            }
            return new Promise((resolve) => {
                const look = () => {
                    if (document.querySelector("#path-graph .main-svg")) {
                        window.setTimeout(() => resolve(true), 0);
                    } else {
                        window.requestAnimationFrame(look);
                    }
                };
                window.requestAnimationFrame(look);
            });
        },

        drawPane(graph) {
            const pane = window.dash_clientside.callback_context.triggered_id.replace("-figure", "");
            undrawn.set(pane, graph);
            if (!drawing) {
                drawAll();
            }
        },
    });
})();
