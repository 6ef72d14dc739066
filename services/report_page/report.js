/* Draws the report's figures as they were on the page, light or dark as the system is. */
(function () {
    "use strict";

    const figures = JSON.parse(document.getElementById("figures").textContent);
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const config = {displayModeBar: false, displaylogo: false, responsive: true, showTips: false};

    /* A figure is kept once; for dark it comes with the places where it differs. */
    function shaded(one) {
        const figure = structuredClone(one.figure);
        for (const [path, value] of dark.matches ? one.dark : []) {
            const last = path[path.length - 1];
            path.slice(0, -1).reduce((part, key) => part[key], figure)[last] = structuredClone(value);
        }
        return figure;
    }

    function draw() {
        figures.forEach((one, place) => {
            const {data, layout} = shaded(one);
            window.Plotly.react(document.getElementById(`figure-${place}`), data, layout, config);
        });
    }

    dark.addEventListener("change", draw);
    draw();
})();
