/* Saving what is drawn as PNG or SVG, each figure under a name that says what it shows. */
(function () {
    "use strict";

    function slug(text) {
        const plain = text.normalize("NFKD").toLowerCase().replace(/\.(csv|tsv|txt|arff|parquet|npy|npz|xlsx)$/, "");
        return plain.replace(/σ\s*=\s*/g, "sigma ").replace(/,/g, "").replace(/[^a-z0-9.]+/g, "-").replace(/^-+|-+$/g, "");
    }

    function figures(title, run) {
        const stem = slug(`${title} k${run && run.query ? run.query.k : ""}`);
        const path = document.querySelector("#path-graph .js-plotly-plot");
        const panes = [...document.querySelectorAll(".pane")].map((pane) => {
            const heading = pane.querySelector(".pane-title span:not(.letter)");
            return [pane.querySelector(".js-plotly-plot"), `${stem}-${slug(heading ? heading.textContent : "clustering")}`];
        });
        return [[path, `${stem}-path`], ...panes].filter(([graph]) => graph);
    }

    async function save(format, title, run) {
        const background = getComputedStyle(document.body).backgroundColor;
        for (const [graph, filename] of figures(title, run)) {
            const {width, height} = graph.getBoundingClientRect();
            const layout = {...graph.layout, paper_bgcolor: background};
            const figure = {data: graph.data, layout, config: {}};
            // One after the other: browsers drop downloads that start at the same moment.
            await window.Plotly.downloadImage(figure, {format, width, height, filename, scale: format === "png" ? 2 : 1});
        }
    }

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        saveFigures(png, svg, run, title) {
            const asked = window.dash_clientside.callback_context.triggered_id;
            if (png || svg) {
                save(asked === "export-svg" ? "svg" : "png", title, run);
            }
        },
    });
})();
