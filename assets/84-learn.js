/* Stepping through a lesson. The server sends it whole, once: the first step's figures, and for each step what differs.
   Buttons, slider, arrow keys and Play all change the one step, and the address follows it. */
(function () {
    "use strict";

    const PACE = 900; // milliseconds between two steps of Play
    const LARGE = window.matchMedia("(min-width: 1800px)"); // a projector, most likely
    const GROWTH = 1.35;
    // `slider` is what the slider says: its own value, when it is put there from here, is no wish of anybody's.
    const seen = {lesson: null, step: 0, slider: 0, timer: null};

    function last() {
        return seen.lesson ? seen.lesson.steps.length - 1 : 0;
    }

    function put(step) {
        const next = Math.max(0, Math.min(last(), step));
        if (next !== seen.step) {
            seen.step = next; // the next key may come before Dash has told
            window.dash_clientside.set_props("learn-step", {data: next});
        }
    }

    function pause() {
        window.clearInterval(seen.timer);
        seen.timer = null;
        if (document.getElementById("learn-play")) {
            window.dash_clientside.set_props("learn-play", {children: "Play"});
        }
    }

    function play() {
        if (seen.timer !== null || !last()) {
            pause();
            return;
        }
        if (seen.step === last()) {
            put(0);
        }
        window.dash_clientside.set_props("learn-play", {children: "Pause"});
        seen.timer = window.setInterval(() => {
            if (!document.getElementById("learn-stage") || seen.step >= last()) {
                pause();
            } else {
                put(seen.step + 1);
            }
        }, PACE);
    }

    document.addEventListener("keydown", (event) => {
        const plain = !event.altKey && !event.ctrlKey && !event.metaKey && event.target instanceof Element;
        const stage = plain && event.target.id === "learn-stage";
        if (!stage && !(plain && ["learn-back", "learn-forward", "learn-play"].includes(event.target.id))) {
            return;
        }
        const targets = {ArrowLeft: seen.step - 1, ArrowRight: seen.step + 1, Home: 0, End: last()};
        if (event.key in targets) {
            event.preventDefault();
            pause();
            put(targets[event.key]);
        } else if (stage && event.key === " ") {
            event.preventDefault();
            play();
        }
    });

    function merged(base, change) {
        const figure = structuredClone(base); // Plotly writes into what it draws
        Object.entries(change.data).forEach(([index, values]) => {
            Object.assign(figure.data[index], structuredClone(values));
        });
        Object.assign(figure.layout, structuredClone(change.layout));
        return LARGE.matches ? grown(figure, "") : figure;
    }

    /* The same figure in larger type, with margins that hold it. */
    function grown(value, name) {
        if (Array.isArray(value)) {
            value.forEach((item) => grown(item, name));
        } else if (value && typeof value === "object") {
            if (name.endsWith("font") && typeof value.size === "number") {
                value.size *= GROWTH;
            }
            Object.keys(value).forEach((key) => {
                if (name === "margin" && key !== "pad") {
                    value[key] *= GROWTH;
                } else {
                    grown(value[key], key);
                }
            });
        }
        return value;
    }

    function element(type, children, more) {
        return {namespace: "dash_html_components", type, props: {children, ...more}};
    }

    function body(step) {
        return step.rows.map((row, place) => {
            const cells = row.map((text, column) => element(column ? "Td" : "Th", text, column ? {} : {scope: "row"}));
            return element("Tr", cells, place === step.current ? {className: "row-on"} : {});
        });
    }

    function writeAddress() {
        const values = new URLSearchParams(seen.lesson.query);
        if (seen.step !== seen.lesson.start) {
            values.set("step", seen.step);
        }
        const text = values.toString();
        const now = seen.lesson.path + (text ? `?${text}` : "");
        if (window.location.pathname === seen.lesson.path && now !== window.location.pathname + window.location.search) {
            window.history.replaceState(null, "", now);
        }
    }

    /* The newest row of a table that grows stays in sight, without moving the page. */
    function showRow() {
        const row = document.querySelector(".lesson-table .row-on");
        const frame = row && row.closest(".lesson-table");
        if (frame) {
            frame.scrollTop = Math.max(0, row.offsetTop + row.offsetHeight - frame.clientHeight);
        }
    }

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        /* Without an output: the step is put where keys put it, too. */
        learnStep(_back, _forward, _play, slider) {
            const asked = window.dash_clientside.callback_context.triggered_id;
            if (asked === "learn-play") {
                play();
            } else if (asked === "learn-slider") {
                if (slider !== seen.slider) {
                    seen.slider = slider;
                    pause();
                    put(slider);
                }
            } else if (asked) {
                pause();
                put(seen.step + (asked === "learn-back" ? -1 : 1));
            }
        },

        /* The step is the one that was put last: a later key may have come while Dash told of an earlier one. */
        learnDraw(lesson, _step) {
            if (!lesson.steps) {
                return Array(7).fill(window.dash_clientside.no_update);
            }
            const fresh = !seen.lesson || seen.lesson.key !== lesson.key;
            seen.lesson = lesson;
            if (fresh) {
                pause();
                seen.step = lesson.first;
                seen.slider = seen.step;
                const slider = {value: seen.step, max: Math.max(last(), 1), disabled: last() === 0};
                window.dash_clientside.set_props("learn-slider", slider);
            } else if (seen.slider !== seen.step) {
                seen.slider = seen.step;
                window.dash_clientside.set_props("learn-slider", {value: seen.step});
            }
            writeAddress();
            window.requestAnimationFrame(() => window.requestAnimationFrame(showRow));
            const now = lesson.steps[seen.step];
            const figures = lesson.figures.map((base, place) => merged(base, now.figures[place]));
            const head = lesson.head.map((text) => element("Th", text, {scope: "col"}));
            return [...figures, now.sentence, head, body(now), seen.step === 0, seen.step === last()];
        },
    });
})();
