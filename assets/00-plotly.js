/* plotly.js is large, even the part of it that is used. It is fetched with the page and read while the server is asked
   for what to show, not after: a Graph waits for whatever stands in window.Plotly, which plotly.js itself then replaces. */
(function () {
    "use strict";

    /* A page may have sixteen WebGL contexts, and plotly.js leaves those of a graph that goes to the garbage collector,
       which comes late: later graphs would stay empty. They are given back at once. */
    function returningContexts(plotly) {
        const purge = plotly.purge;
        plotly.purge = (graph) => {
            const canvases = graph && graph._fullLayout && graph._fullLayout._glcanvas;
            const held = canvases ? canvases.data().flatMap(({regl}) => (regl ? [regl._gl] : [])) : [];
            purge(graph);
            held.forEach((gl) => gl.getExtension("WEBGL_lose_context")?.loseContext());
        };
        return plotly;
    }

    const early = document.getElementById("plotly-early");
    if (!early || window.Plotly) {
        return;
    }
    window.Plotly = new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = early.href;
        script.onload = () => resolve(returningContexts(window.Plotly));
        script.onerror = reject;
        document.head.append(script);
    });
})();
