/* The open tab is computed when what it shows has changed; a closed one asks nothing of the server. */
(function () {
    "use strict";

    document.addEventListener("click", async (event) => {
        const button = event.target instanceof Element && event.target.closest("[data-copies]");
        if (!button) {
            return;
        }
        const text = document.querySelector(`.${button.dataset.copies}`).textContent;
        const done = await window.dash_clientside.offgrid.copied(text);
        button.textContent = done ? "Copied" : "Select and copy";
        window.setTimeout(() => {
            button.textContent = "Copy";
        }, 2000);
    });

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        wantTab(open, run, shown, selection, scheme, narrow, drawn, id, before) {
            if (!drawn || id !== `${open}-wanted`) {
                return window.dash_clientside.no_update;
            }
            const {indices, active} = selection;
            const now = JSON.stringify([run, shown.id, shown.version, indices, active, scheme, narrow]);
            return now === before ? window.dash_clientside.no_update : now;
        },
    });
})();
