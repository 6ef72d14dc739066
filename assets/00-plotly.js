/* plotly.js is large, even the part of it that is used. It is fetched with the page and read while the server is asked
   for what to show, not after: a Graph waits for whatever stands in window.Plotly, which plotly.js itself then replaces. */
(function () {
    "use strict";

    const early = document.getElementById("plotly-early");
    if (!early || window.Plotly) {
        return;
    }
    window.Plotly = new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = early.href;
        script.onload = () => resolve(window.Plotly);
        script.onerror = reject;
        document.head.append(script);
    });
})();
