/* The open tab is computed when what it shows has changed; a closed one asks nothing of the server. A button elsewhere
   on the page may open one, and leads to its reasons. */
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

    /* The reasons come with the tab's content, from the server. */
    function leadTo(title) {
        title.scrollIntoView({block: "center"});
        title.focus({preventScroll: true});
    }

    document.addEventListener("click", (event) => {
        const button = event.target instanceof Element && event.target.closest("[data-opens]");
        if (!button) {
            return;
        }
        const content = document.getElementById(button.dataset.opens);
        const title = () => content.querySelector(".compare-reasons-title");
        document.querySelector(`#tabs [role="tab"][id$="-tab-${button.dataset.opens}"]`).click();
        if (title()) {
            window.requestAnimationFrame(() => leadTo(title()));
            return;
        }
        const watch = new MutationObserver(() => {
            if (title()) {
                watch.disconnect();
                leadTo(title());
            }
        });
        watch.observe(content, {childList: true, subtree: true});
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
