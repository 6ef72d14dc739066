/* Saving what is drawn as PNG or SVG, each figure under a name that says what it shows. The typeface goes into the file:
   without it, other letters would take its place and run into each other. */
(function () {
    "use strict";

    const MARK = 20; // px that a question mark takes: it lies over the page's figure, and is not in a saved one

    let typeface = null; // promise of the style rules with the fonts inside

    /* The title as all files to take away have it in their names: services/export.py says how. */
    function prefix(title) {
        const plain = title.normalize("NFKD").replace(/[^\x00-\x7f]/g, "").toLowerCase();
        const stem = plain.replace(/\.(csv|tsv|txt|arff|parquet|npy|npz|xlsx)$/, "");
        return stem.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40) || "data";
    }

    function slug(text) {
        const plain = text.normalize("NFKD").toLowerCase().replace(/∞/g, "inf");
        return plain.replace(/σ\s*[=→]\s*/g, "sigma ").replace(/,/g, "").replace(/[^a-z0-9.]+/g, "-").replace(/^-+|-+$/g, "");
    }

    function figures(title, run) {
        const stem = `${prefix(title)}-k${run && run.query ? run.query.k : ""}`;
        const path = document.querySelector("#path-graph .js-plotly-plot");
        const panes = [...document.querySelectorAll(".pane")].map((pane) => {
            const heading = pane.querySelector(".pane-title span:not(.letter)");
            return [pane.querySelector(".js-plotly-plot"), `${stem}-${slug(heading ? heading.textContent : "clustering")}`];
        });
        const tabs = [...document.querySelectorAll("[data-figure]")]
            .filter((frame) => frame.offsetParent !== null)
            .map((frame) => [frame.querySelector(".js-plotly-plot"), `${stem}-${slug(frame.dataset.figure)}`]);
        return [[path, `${stem}-path`], ...panes, ...tabs].filter(([graph]) => graph);
    }

    function dataAddress(blob) {
        return new Promise((resolve, reject) => {
            const reader = new FileReader();
            reader.onload = () => resolve(reader.result);
            reader.onerror = reject;
            reader.readAsDataURL(blob);
        });
    }

    async function inlined(rule, address) {
        const font = await dataAddress(await (await fetch(address)).blob());
        const kept = ["font-family", "font-style", "font-weight", "unicode-range"]
            .map((name) => [name, rule.style.getPropertyValue(name)])
            .filter(([, value]) => value)
            .map(([name, value]) => `${name}:${value}`)
            .join(";");
        return `@font-face{${kept};src:url(${font}) format("woff2")}`;
    }

    /* The font files that the page has loaded are the ones its figures are written in. */
    function fonts() {
        const loaded = new Set(performance.getEntriesByType("resource").map((entry) => entry.name));
        const rules = [...document.styleSheets].flatMap((sheet) =>
            [...sheet.cssRules]
                .filter((rule) => rule instanceof CSSFontFaceRule)
                .map((rule) => [rule, /url\(["']?([^"')]+)/.exec(rule.style.getPropertyValue("src"))])
                .filter(([, found]) => found)
                .map(([rule, found]) => [rule, new URL(found[1], sheet.href).href])
        );
        return Promise.all(rules.filter(([, address]) => loaded.has(address)).map((pair) => inlined(...pair)));
    }

    async function svgOf(graph, width, height, background) {
        const annotations = (graph.layout.annotations || []).map((note) =>
            note.name === "after-mark" ? {...note, xshift: note.xshift - MARK} : note
        );
        const layout = {...graph.layout, annotations, paper_bgcolor: background};
        // As lines and shapes, not as WebGL's pixels, for which a copy of the graph would need contexts of its own.
        const data = graph.data.map((trace) => (trace.type === "scattergl" ? {...trace, type: "scatter"} : trace));
        const figure = {data, layout, config: {}};
        const address = await window.Plotly.toImage(figure, {format: "svg", width, height});
        typeface = typeface || fonts();
        const style = `<style>${(await typeface).join("")}</style>`;
        return decodeURIComponent(address.replace(/^data:image\/svg\+xml,/, "")).replace(/(<svg[^>]*>)/, `$1${style}`);
    }

    async function pngOf(svg, width, height) {
        const image = new Image();
        image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        canvas.width = 2 * width;
        canvas.height = 2 * height;
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    }

    function download(blob, name) {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = name;
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    }

    async function save(format, chosen) {
        const background = getComputedStyle(document.body).backgroundColor;
        for (const [graph, name] of chosen) {
            const width = Math.round(graph.getBoundingClientRect().width);
            const height = Math.round(graph.getBoundingClientRect().height);
            const svg = await svgOf(graph, width, height, background);
            const file = format === "svg" ? new Blob([svg], {type: "image/svg+xml"}) : await pngOf(svg, width, height);
            download(file, `${name}.${format}`);
            // One after the other: browsers drop downloads that start at the same moment.
            await new Promise((resolve) => window.setTimeout(resolve, 150));
        }
    }

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        /* All that is drawn on the page, or the figure of the open tab alone. */
        saveFigures(png, svg, alone, run, title) {
            const asked = window.dash_clientside.callback_context.triggered_id;
            if (!png && !svg && !alone.some(Boolean)) {
                return;
            }
            const every = figures(title, run);
            if (asked && asked.kind) {
                save(asked.kind, every.filter(([graph]) => graph.closest(".tabs")));
            } else {
                save(asked === "export-svg" ? "svg" : "png", every);
            }
        },
    });
})();
