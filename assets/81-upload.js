/* A file over the limit, or of a kind that can't be read, is turned away before it is sent, with the sentence that says
   why; any other says that it is being read until the server's report takes its place. */
(function () {
    "use strict";

    function component(type, props) {
        return {namespace: "dash_html_components", type, props};
    }

    function say(sentence, refused) {
        const words = component("P", {children: sentence});
        const report = refused ? {className: "report report-error", role: "alert"} : {className: "report"};
        window.dash_clientside.set_props("upload-report", {children: component("Div", {...report, children: words})});
    }

    function megabytes(bytes) {
        return (bytes / 1e6).toLocaleString("en", {maximumFractionDigits: bytes < 1e7 ? 1 : 0});
    }

    function trouble(file, zone) {
        const limit = Number(zone.querySelector(".upload-limit").dataset.bytes);
        const kinds = zone.querySelector("input").accept.split(",");
        if (!kinds.some((kind) => file.name.toLowerCase().endsWith(kind))) {
            const known = kinds.map((kind) => kind.slice(1).toUpperCase());
            const last = known.pop();
            return `${file.name} is of a kind that can't be read; give a file of ${known.join(", ")} or ${last}.`;
        }
        if (file.size > limit) {
            const sizes = `${megabytes(file.size)} MB, and at most ${megabytes(limit)} MB are taken`;
            return `${file.name} has ${sizes}; upload a smaller file.`;
        }
        return "";
    }

    function look(event) {
        const zone = event.target instanceof Element && event.target.closest("#upload");
        const files = (event.dataTransfer || event.target).files;
        if (!zone || !files || !files.length) {
            return;
        }
        const refused = trouble(files[0], zone);
        say(refused || `Reading ${files[0].name}`, Boolean(refused));
        if (!refused) {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
        if (event.target.type === "file") {
            event.target.value = ""; // so that the same file, made better, counts as a change
        }
    }

    document.addEventListener("change", look, true);
    document.addEventListener("drop", look, true);
})();
