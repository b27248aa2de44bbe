/* Search without a server: a browser starts no worker from a file, so the script of the worker runs in a frame instead. */
(function () {
  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const scope = this.frame.contentWindow;
      scope.postMessage = (data) => this.tell(data);
      scope.importScripts = (...names) =>
        names.reduce((before, name) => before.then(() => this.load(new URL(name, url).href)), Promise.resolve());
      this.ready = this.load(new URL(url, location.href).href);
    }
    load(source) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = source;
        script.onload = done;
        script.onerror = failed;
        this.frame.contentDocument.body.appendChild(script);
      });
    }
    tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
})();
