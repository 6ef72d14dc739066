/* How the browser shows the page: light or dark, narrow or wide. Both are told to the server by cookie before the page
   is asked for, so that the first drawing is the right one. */
(function () {
    "use strict";

    const NARROW = window.matchMedia("(max-width: 767.98px)");
    const DARK = window.matchMedia("(prefers-color-scheme: dark)");

    function keep(name, value) {
        document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
    }

    function scheme() {
        let chosen = null;
        try {
            chosen = window.localStorage.getItem("mantine-color-scheme-value");
        } catch (error) {
            chosen = null; // storage is switched off: follow the system
        }
        if (chosen === "light" || chosen === "dark") {
            return chosen;
        }
        return DARK.matches ? "dark" : "light";
    }

    keep("offgrid-scheme", scheme());
    keep("offgrid-narrow", NARROW.matches ? "1" : "0");
    NARROW.addEventListener("change", (event) => {
        keep("offgrid-narrow", event.matches ? "1" : "0");
        window.dash_clientside.set_props("narrow", {data: event.matches});
    });

    /* Mantine writes the scheme on the document: on a switch, and when the system's own changes. The toggle's property
       says "light" at first whatever the system says, so it is of no use. */
    let written = scheme();
    new MutationObserver(() => {
        const now = document.documentElement.dataset.mantineColorScheme;
        if ((now === "light" || now === "dark") && now !== written) {
            written = now;
            keep("offgrid-scheme", now);
            window.dash_clientside.set_props("scheme", {data: now});
        }
    }).observe(document.documentElement, {attributes: true, attributeFilter: ["data-mantine-color-scheme"]});

    function show(panelClass, backdropClass, opened) {
        const without = (text, extra) => text.split(" ").filter((part) => part !== extra).join(" ");
        const panel = without(panelClass, "settings-opened");
        const backdrop = without(backdropClass, "settings-backdrop-shown");
        return opened ? [`${panel} settings-opened`, `${backdrop} settings-backdrop-shown`] : [panel, backdrop];
    }

    function focusSoon(id) {
        window.requestAnimationFrame(() => {
            const element = document.getElementById(id);
            if (element) {
                element.focus();
            }
        });
    }

    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && document.querySelector(".settings-opened")) {
            document.getElementById("settings-close").click();
        }
    });

    /* Mantine puts the focus of a menu that opens on an empty element before its items, which a menu may not have while
       it can be focused. On the menu itself the arrow keys do the same. */
    document.addEventListener("focusin", (event) => {
        if (event.target.matches("[role=menu] > [data-autofocus]")) {
            event.target.removeAttribute("tabindex");
            event.target.parentElement.focus();
        }
    });

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        tick(done) {
            window.dash_clientside.set_props("tick", {data: done});
        },

        noteScheme(_provider, current) {
            return written === current ? window.dash_clientside.no_update : written;
        },

        noteWidth(_provider, current) {
            return NARROW.matches === current ? window.dash_clientside.no_update : NARROW.matches;
        },

        /* The navigation marks the page that one is on, and the one that it belongs to. */
        markPage(path, ...addresses) {
            const inside = (address) => path === address || (address !== "/" && path.startsWith(`${address}/`));
            return addresses.map((address) => (inside(address) ? "nav-link nav-link-on" : "nav-link"));
        },

        openSettings(_open, _close, _backdrop, _run, panelClass, backdropClass) {
            const opened = window.dash_clientside.callback_context.triggered_id === "settings-open";
            if (NARROW.matches && opened !== panelClass.includes("settings-opened")) {
                focusSoon(opened ? "settings-close" : "settings-open");
            }
            return show(panelClass, backdropClass, opened);
        },
    });
})();
