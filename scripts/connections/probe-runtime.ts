/**
 * Measures how late the runtime is: one small request after the other, while callers have requests under way. The answers say which tokens
 * the gateway has accepted.
 */
import { text } from "node:stream/consumers";
import { LATE_PARAMETER } from "../../src/core/runtime-delay.ts";
import { AFTER_PARAMETER, PROBE_PATH } from "../../src/core/shared-count.ts";
import type { NewTokens } from "../../src/http/accepted-tokens.ts";
import { Agent, request } from "../http.ts";
import type { ConnectionContext } from "./connection-context.ts";
import type { Pace } from "./pace.ts";

/** From the answer to a probe to the next one. */
const PAUSE_MS = { behind: 100, inTime: 250 };

/** `socketPath`: of the entrypoint `Connections` of a worker. `pace`: of the same worker. */
export function probeRuntime(
	socketPath: string,
	pace: Pace,
	{
		accept,
		places,
		now,
	}: Pick<ConnectionContext, "places" | "now"> & { accept(hashes: readonly string[]): void },
): { stop(): void } {
	const agent = new Agent({ keepAlive: true });
	/** Of the probe before. The runtime itself cannot measure it. */
	let lateMs = 0;
	/** Of the last accepted token. */
	let position = 0;
	const probe = (): void => {
		if (places.underWay === 0) {
			pace.end();
			next();
			return;
		}
		const sentAt = now();
		pace.probe();
		const path = `${PROBE_PATH}?${LATE_PARAMETER}=${Math.round(lateMs)}&${AFTER_PARAMETER}=${position}`;
		const sent = request({ socketPath, path, agent }, (answer) => {
			lateMs = now() - sentAt;
			pace.probed(lateMs);
			text(answer)
				.then((answered) => {
					const tokens = JSON.parse(answered) as NewTokens;
					position = tokens.position;
					accept(tokens.hashes);
				})
				// A runtime that ends may answer otherwise.
				.catch(() => {})
				.then(next);
		});
		// A runtime that has stopped is late for all callers alike.
		sent.once("error", () => {
			pace.end();
			next();
		});
		sent.end();
	};
	let timer: NodeJS.Timeout;
	const next = (): void => {
		timer = setTimeout(probe, pace.isBehind ? PAUSE_MS.behind : PAUSE_MS.inTime).unref();
	};
	next();
	return {
		stop() {
			clearTimeout(timer);
			agent.destroy();
		},
	};
}
