/* A file over the limit is turned away before it is sent, with the sentence that says why; any other says that it is
   being read until the server's report takes its place. */
(function () {
    "use strict";

    let limit = Infinity;

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

    function look(event) {
        const zone = event.target instanceof Element && event.target.closest("#upload");
        const files = (event.dataTransfer || event.target).files;
        if (!zone || !files || !files.length) {
            return;
        }
        const file = files[0];
        if (file.size <= limit) {
            say(`Reading ${file.name}`, false);
            return;
        }
        event.preventDefault();
        event.stopPropagation();
        const most = `${megabytes(limit)} MB`;
        say(`${file.name} has ${megabytes(file.size)} MB, and at most ${most} are taken; upload a smaller file.`, true);
        if (event.target.type === "file") {
            event.target.value = ""; // so that the same file, made smaller, counts as a change
        }
    }

    document.addEventListener("change", look, true);
    document.addEventListener("drop", look, true);

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        noteUploadLimit(bytes) {
            limit = bytes > 0 ? bytes : Infinity;
        },
    });
})();
