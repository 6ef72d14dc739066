var Plotly = require('plotly.js/lib/core');
Plotly.register([
    require('plotly.js/src/traces/scattergl/strict'),
    require('plotly.js/lib/heatmap'),
    require('plotly.js/lib/sankey'),
    require('plotly.js/lib/bar')
]);
module.exports = Plotly;
