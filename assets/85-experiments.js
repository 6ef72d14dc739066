/* The Experiments page: the rerun that the page follows stands in its address, so that a reload finds it again. */
(function () {
    "use strict";

    window.dash_clientside = Object.assign({}, window.dash_clientside);
    window.dash_clientside.offgrid = Object.assign({}, window.dash_clientside.offgrid, {
        writeRerunAddress(followed) {
            if (followed && followed.id && window.location.pathname.endsWith("/experiments")) {
                const query = new URLSearchParams({table: followed.table, rerun: followed.id});
                window.history.replaceState(null, "", `${window.location.pathname}?${query}`);
            }
        },

        rerunTick(done) {
            window.dash_clientside.set_props("rerun-tick", {data: done});
        },
    });
})();
