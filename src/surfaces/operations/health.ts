/**
 * `GET /health` and `GET /ready`, without a token: for supervisors and load balancers. `/health` is 200 while the process
 * answers. `/ready` is 200 while it takes requests and its Durable Objects can be asked, else 503. Neither tells more:
 * anyone may ask.
 */
import { Hono } from "hono";
import { toAiError } from "../../core/errors.ts";
import { HEALTH_PATH, READY_PATH } from "../../http/authenticate.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import type { Services } from "../../pipeline/services.ts";

/** Answers of the objects are kept for so long: no number of probes costs more calls. */
const READY_MS = 1_000;
const NO_STORE = { "cache-control": "no-store" };

export function health({
	directory,
	now,
	log,
	uuid,
}: Pick<Services, "directory" | "now" | "log" | "uuid">): Hono {
	const app = new Hono({ strict: false });
	let asked: { at: number; ready: Promise<boolean> } | undefined;
	const ask = async (): Promise<boolean> => {
		try {
			await directory.list({ limit: 1 });
			return true;
		} catch (error) {
			log(toAiError(error), uuid());
			return false;
		}
	};
	const isReady = (): Promise<boolean> => {
		const at = now();
		if (!asked || Math.abs(at - asked.at) >= READY_MS) asked = { at, ready: ask() };
		return asked.ready;
	};
	app.get(HEALTH_PATH, (c) => c.json({ status: "ok" }, 200, NO_STORE));
	app.get(READY_PATH, async (c) =>
		(await isReady())
			? c.json({ status: "ready" }, 200, NO_STORE)
			: c.json({ status: "unavailable" }, 503, NO_STORE),
	);
	methodNotAllowed(app, [HEALTH_PATH, READY_PATH]);
	return app;
}
