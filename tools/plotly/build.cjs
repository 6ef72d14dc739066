/* Bundles the parts of plotly.js that the figures use, with plotly.js's own build options. See README.md. */
"use strict";

const {environmentPlugin} = require("esbuild-plugin-environment");
const {glsl} = require("esbuild-plugin-glsl");
const InlineCSSPlugin = require("esbuild-plugin-inline-css");
const {version} = require("plotly.js/package.json");

const traces = "scatter, scattergl, bar, heatmap and sankey";
require("esbuild")
    .build({
        entryPoints: ["entry.js"],
        outfile: "../../assets/plotly/plotly.min.js",
        format: "iife",
        globalName: "Plotly",
        bundle: true,
        minify: true,
        legalComments: "eof",
        banner: {js: `/*! plotly.js ${version}, a bundle of its ${traces} traces. Copyright 2012-2026 Plotly, Inc. MIT licence. */`},
        plugins: [InlineCSSPlugin(), glsl({minify: true}), environmentPlugin({NODE_DEBUG: false})],
        alias: {regl: "@plotly/regl", stream: "stream-browserify"},
        define: {global: "window", "define.amd": "false"},
        target: "es2016",
    })
    .catch(() => process.exit(1));
