import type { KubeObject } from "@kubeconnect/client";
import { conditionsOf } from "../model/summary/conditions.js";
import {
  eventCount,
  eventTime,
  type Finding,
  type Related,
  type Summary,
} from "../model/summary/types.js";
import type { Tone } from "../model/tone.js";
import { Age } from "../ui/age.js";
import { Conditions } from "./conditions.js";
import { Containers } from "./containers.js";
import { Metadata } from "./metadata.js";
import styles from "./object.module.css";
import { ObjectLink } from "./reference.js";

/** The state of an object in people's terms. */
export function SummaryTab({
  object,
  summary: { findings, facts },
  related: { warnings = [] },
}: {
  readonly object: KubeObject;
  readonly summary: Summary;
  readonly related: Related;
}) {
  const conditions = conditionsOf(object.value);
  return (
    <div className={styles.summary}>
      {findings.length > 0 && <Findings findings={findings} />}
      {facts.length > 0 && (
        <dl className={styles.facts}>
          {facts.map(({ name, value, about }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{about ? <ObjectLink to={about}>{value}</ObjectLink> : value}</dd>
            </div>
          ))}
        </dl>
      )}
      <Containers object={object} />
      {conditions.length > 0 && <Conditions conditions={conditions} />}
      {warnings.length > 0 && (
        <section aria-labelledby="warnings">
          <h2 id="warnings">Latest warnings</h2>
          <ul className={styles.warnings}>
            {warnings.map((event) => (
              <li key={event.metadata.uid}>
                <strong>{event.reason}</strong>
                <span>{event.message}</span>
                <span className={styles.dim}>
                  {eventCount(event) > 1 && `${eventCount(event)} times, `}
                  <Age since={eventTime(event)} /> ago
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Metadata object={object} />
    </div>
  );
}

const symbols: Record<Tone, string> = { ok: "✓", warn: "!", bad: "✕", info: "i", neutral: "·" };
const meanings: Record<Tone, string> = {
  ok: "Good",
  warn: "Attention",
  bad: "Problem",
  info: "Information",
  neutral: "Note",
};

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <section aria-label="What to know">
      <ul className={styles.findings}>
        {findings.map((each) => (
          <li key={`${each.title} ${each.about?.name ?? ""}`} data-tone={each.tone}>
            <span className={styles.symbol} aria-hidden="true">
              {symbols[each.tone]}
            </span>
            <div>
              <p className={styles.findingTitle}>
                <span className="visually-hidden">{meanings[each.tone]}: </span>
                {each.title}
                {each.since && (
                  <span className={styles.dim}>
                    {" · "}
                    <Age since={each.since} />
                  </span>
                )}
              </p>
              {each.detail && <p className={styles.detail}>{each.detail}</p>}
              {each.advice && <p className={styles.advice}>{each.advice}</p>}
              {each.about && (
                <p>
                  <ObjectLink to={each.about} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
