/* Selecting bandwidths in the browser: click, drag, arrow keys and table rows all change the one selection,
   {indices, active, held, auto}, and the address follows it. `held` are values that the arrow keys leave behind. */
(function () {
    "use strict";

    const MOST = 6; // as `MOST_SELECTED` of callbacks/state.py
    const seen = {run: {}, selection: null, shown: null, tab: "table"};

    function noUpdate() {
        return window.dash_clientside.no_update;
    }

    function order(shown) {
        const sigmas = (shown && shown.sigmas) || [];
        return sigmas.map((_, index) => index).sort((a, b) => sigmas[a] - sigmas[b] || a - b);
    }

    function made(indices, active, held, shown) {
        const place = new Map(order(shown).map((index, position) => [index, position]));
        const known = [...new Set(indices)].filter((index) => place.has(index));
        known.sort((a, b) => place.get(a) - place.get(b));
        return {indices: known, active, held: held.filter((index) => known.includes(index)), auto: false};
    }

    function parts(selection) {
        const now = selection || {};
        return {indices: now.indices || [], active: now.active ?? null, held: now.held || []};
    }

    /* A seventh value takes the place of the active one. */
    function toggled(selection, index, shown) {
        const {indices, active, held} = parts(selection);
        if (indices.includes(index)) {
            const left = indices.filter((other) => other !== index);
            return made(left, left.length ? left[left.length - 1] : null, held, shown);
        }
        const kept = indices.length < MOST ? indices : indices.filter((other) => other !== (active ?? indices[0]));
        return made([...kept.slice(0, MOST - 1), index], index, held, shown);
    }

    /* At most six of the values in a box, spread evenly and with both ends. */
    function spread(chosen, shown) {
        const inside = order(shown).filter((index) => chosen.has(index));
        const count = Math.min(MOST, inside.length);
        const step = count > 1 ? (inside.length - 1) / (count - 1) : 0;
        const picked = Array.from({length: count}, (_, i) => inside[Math.round(i * step)]);
        return made(picked, picked[0], [], shown);
    }

    /* The active value moves to the next one that is not selected yet; a held one stays behind. */
    function walked(selection, target, shown) {
        const {indices, active, held} = parts(selection);
        const line = order(shown);
        if (!line.length) {
            return null;
        }
        const others = indices.filter((index) => index !== active || held.includes(index));
        const free = others.length >= MOST ? others.filter((index) => index !== active) : others;
        const step = target === "left" || target === "last" ? -1 : 1;
        const from = {left: line.indexOf(active), right: line.indexOf(active), first: -1, last: line.length};
        let place = target === "left" && from.left < 0 ? line.length : from[target];
        do {
            place += step;
        } while (place >= 0 && place < line.length && free.includes(line[place]));
        return place < 0 || place >= line.length ? null : made([...free, line[place]], line[place], held, shown);
    }

    function heldOrLeft(selection, shown) {
        const {indices, active, held} = parts(selection);
        if (active === null) {
            return null;
        }
        if (indices.includes(active) && !held.includes(active)) {
            return made(indices, active, [...held, active], shown);
        }
        const without = indices.filter((index) => index !== active);
        return made(without, without.length ? without[without.length - 1] : null, held, shown);
    }

    function keyed(event) {
        const steps = {ArrowLeft: "left", ArrowRight: "right", Home: "first", End: "last"};
        if (event.key in steps) {
            return walked(seen.selection, steps[event.key], seen.shown);
        }
        if (event.key === "Enter" || event.key === " ") {
            return heldOrLeft(seen.selection, seen.shown);
        }
        return event.key === "Escape" ? made([], null, [], seen.shown) : undefined;
    }

    function put(selection) {
        if (selection) {
            seen.selection = selection; // the next key may come before Dash has told
            window.dash_clientside.set_props("selection", {data: selection});
        }
    }

    document.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || !(event.target instanceof Element)) {
            return;
        }
        const row = event.key === "Enter" && event.target.closest("#table .ag-row");
        if (row) {
            put(toggled(seen.selection, Number(row.getAttribute("row-id")), seen.shown));
            return;
        }
        if (event.target.id !== "path-frame") {
            return;
        }
        const selection = keyed(event);
        if (selection !== undefined) {
            event.preventDefault();
            put(selection);
        }
    });

    function indexOf(point) {
        const data = point.customdata;
        const index = Array.isArray(data) ? data[0] : data;
        return Number.isInteger(index) ? index : null;
    }

    function query() {
        const values = new URLSearchParams(seen.run.query);
        values.set("run", seen.run.id);
        if (seen.selection && !seen.selection.auto && seen.selection.indices.length) {
            const {indices, active} = parts(seen.selection);
            const rest = indices.filter((index) => index !== active);
            values.set("select", (indices.includes(active) ? [active, ...rest] : indices).join(","));
        }
        if (seen.tab !== "table") {
            values.set("tab", seen.tab);
        }
        // Colons and commas may stand in a query as they are, and read better.
        return `?${values.toString().replaceAll("%3A", ":").replaceAll("%2C", ",")}`;
    }

    function address() {
        return window.location.pathname + (seen.run.id ? query() : window.location.search);
    }

    /* Dash's own Location knows nothing of addresses written here. Where it would take a step back, or the link to the
       first page, for no change at all, it is told. */
    let told = window.location.search;

    function tellLocation() {
        const now = window.location.search;
        if (now === told) {
            window.dash_clientside.set_props("_pages_location", {search: now});
        }
        told = now;
    }

    window.addEventListener("popstate", tellLocation);
    window.addEventListener("_dashprivate_pushstate", tellLocation);

    async function copied(text) {
        try {
            await navigator.clipboard.writeText(text);
            return true;
        } catch (error) {
            const field = document.createElement("textarea"); // no clipboard without https, but this may work
            field.value = text;
            document.body.append(field);
            field.select();
            const done = document.execCommand("copy");
            field.remove();
            return done;
        }
    }

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        copied,

        selectOnPath(click, box, selection, shown) {
            const what = window.dash_clientside.callback_context.triggered[0].prop_id.split(".")[1];
            if (what === "clickData") {
                const index = click && click.points.length ? indexOf(click.points[0]) : null;
                // Cleared, so that a second click on the same value counts.
                return [index === null ? noUpdate() : toggled(selection, index, shown), null];
            }
            const chosen = new Set(((box && box.points) || []).map(indexOf).filter((index) => index !== null));
            return [chosen.size ? spread(chosen, shown) : noUpdate(), noUpdate()];
        },

        selectInTable(cell, selection, shown) {
            const index = cell ? Number(cell.rowId) : NaN;
            return Number.isInteger(index) ? toggled(selection, index, shown) : noUpdate();
        },

        writeAddress(run, selection, shown, tab) {
            const initial = !window.dash_clientside.callback_context.triggered.length;
            const before = seen.run.id;
            Object.assign(seen, {run, selection, shown, tab});
            if (run.id !== shown.id) {
                // A late answer about the run before, or a run that is only just asked for: ask how it stands.
                window.dash_clientside.set_props("tick", {data: `${run.id}:${Date.now()}`});
            }
            const now = address();
            if (!initial && run.id && now !== window.location.pathname + window.location.search) {
                window.history[run.id === before ? "replaceState" : "pushState"](null, "", now);
            }
            window.dash_clientside.offgrid.remember(now);
            return now;
        },

        async copyLink(clicks, now) {
            if (!clicks) {
                return noUpdate();
            }
            const done = await copied(window.location.origin + now);
            window.setTimeout(() => {
                window.dash_clientside.set_props("copy-link-label", {children: "Copy link"});
            }, 2000);
            return done ? "Copied" : "Copy the address bar";
        },

        /* A region that screen readers listen to says what became of the search. */
        announce(shown) {
            const live = document.getElementById("live");
            if (live && shown.told && live.textContent !== shown.told) {
                live.textContent = shown.told;
            }
        },

        suitTableFilter: (function () {
            let proposed = null;
            let run = null;
            return function (shown, current) {
                if (!shown.id) {
                    return noUpdate();
                }
                const short = shown.sigmas.length <= 14; // this and the next line as `default_filter` of layouts/table_panel.py
                const suits = short ? "all" : shown.active ? "newest" : "long";
                const chosenByHand = run === shown.id && proposed !== null && current !== proposed;
                run = shown.id;
                if (chosenByHand) {
                    return noUpdate();
                }
                proposed = suits;
                return suits === current ? noUpdate() : suits;
            };
        })(),
    });
})();
