var Plotly = require('plotly.js/lib/core');
Plotly.register([
    require('plotly.js/lib/scattergl'),
    require('plotly.js/lib/heatmap'),
    require('plotly.js/lib/sankey'),
    require('plotly.js/lib/bar')
]);
module.exports = Plotly;
