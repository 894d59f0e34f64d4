import { KubeconnectError, type Changes } from "@kubeconnect/client";
import { connect } from "@kubeconnect/client/web";
import type { Connection } from "./connection.js";
import { byId, oncePerFrame, setText } from "./dom.js";
import { PodFeed } from "./feed.js";
import { LabelDialog } from "./labeldialog.js";
import type { PodRow } from "./row.js";
import { Session } from "./session.js";
import { SignIn } from "./signin.js";
import { SortHeaders } from "./sortheaders.js";
import { PodTable } from "./table.js";
import { Toolbar } from "./toolbar.js";
import { arrange, namespaces } from "./view.js";
import { countOf, coverageOf, noticeOf, titleOf } from "./text.js";

/** The page. It connects the parts, which do not know each other, and renders once per frame. */
class App {
  readonly #connection = byId("connection", HTMLElement);
  readonly #notice = byId("notice", HTMLElement);
  readonly #refusal = byId("refusal", HTMLElement);
  readonly #session = new Session((token) => connect(window.location.origin, { token }));
  readonly #feed = new PodFeed(this.#session, {
    connection: (connection) => {
      this.#showConnection(connection);
    },
    changed: (changes) => {
      if (changes) this.#changes.push(changes);
      this.#schedule();
    },
    arriving: () => {
      this.#schedule();
    },
  });
  readonly #toolbar = new Toolbar({
    viewChanged: () => {
      this.#viewChanged();
    },
    selectorChanged: (labelSelector) => {
      void this.#select(labelSelector);
    },
  });
  readonly #headers = new SortHeaders(() => {
    this.#viewChanged();
  });
  readonly #dialog = new LabelDialog(this.#session, (key) => this.#feed.pods.get(key));
  readonly #signIn = new SignIn(this.#session, () => {
    this.#feed.clear();
    void this.#select(this.#toolbar.choice.labelSelector);
  });
  readonly #table = new PodTable((row, label) => {
    this.#dialog.open(row, label);
  });
  readonly #schedule = oncePerFrame(() => {
    this.#draw();
  });
  #state: Connection = { state: "connecting" };
  /** The changes since the last frame. */
  #changes: Changes<PodRow>[] = [];

  start(): void {
    setInterval(() => {
      this.#table.tick(Date.now());
    }, 1000);
    this.#schedule();
    this.#showConnection(this.#state);
    void this.#select(this.#toolbar.choice.labelSelector);
  }

  /**
   * Selects the pods of a label selector. The table keeps the current pods until the new ones are
   * complete, and if the service rejects the selector.
   */
  async #select(labelSelector: string): Promise<void> {
    try {
      await this.#feed.select(labelSelector);
      if (this.#toolbar.choice.labelSelector === labelSelector) this.#toolbar.showSelectorError("");
    } catch (error) {
      this.#toolbar.showSelectorError(KubeconnectError.from(error).message);
      if (!this.#feed.synced && labelSelector !== "") await this.#feed.select("");
    }
  }

  #showConnection(connection: Connection): void {
    this.#state = connection;
    this.#connection.dataset.state = connection.state;
    document.body.classList.toggle("stale", connection.state !== "live");
    setText(this.#connection, titleOf(connection));
    this.#refusal.hidden = connection.state !== "forbidden";
    setText(this.#refusal, connection.state === "forbidden" ? connection.reason : "");
    this.#signIn.show(connection);
    this.#schedule();
  }

  #viewChanged(): void {
    this.#table.scrollToTop();
    this.#schedule();
  }

  #draw(): void {
    const { pods, synced, arriving, namespaces: covered } = this.#feed;
    const rows = arrange(pods.values(), { ...this.#toolbar.choice, ...this.#headers.sorting });
    this.#table.show(rows);
    for (const changes of this.#changes.splice(0)) this.#table.flash(changes);
    this.#toolbar.showNamespaces(namespaces(pods.values()));
    this.#toolbar.showCount(synced ? countOf(rows.length, pods.size) : "");
    this.#toolbar.showCoverage(coverageOf(covered), covered);
    this.#notice.hidden = rows.length > 0;
    setText(this.#notice, noticeOf(this.#state, { synced, arriving, all: pods.size }));
    this.#dialog.refresh();
  }
}

new App().start();
