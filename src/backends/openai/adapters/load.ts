/** The calls of an engine that load and unload an adapter. */
import * as z from "zod";
import { AiError } from "../../../core/errors.ts";
import { lazy } from "../../../core/lazy.ts";
import { startNativeTimer } from "../../../core/lazy-timer.ts";
import { holders } from "../../../pools/adapter-holders.ts";
import type { AccountAdapter, AdapterSettings } from "../../adapters.ts";
import { readError } from "../../transport/error-body.ts";
import { postJson } from "../../transport/http.ts";
import { type Call, callerMessage, failureOfTarget, type Refusal } from "../../transport/upstream-failure.ts";
import { type AdapterEngine, isLoadedAlready } from "./engines.ts";
import { type AdapterLoads, LOAD_MS, RefusedAdapter } from "./replica-adapters.ts";

/** The confirmation is a text, or JSON. */
const AnyText = lazy(() => z.object({ text: z.string() }));
const TIMEOUTS = { headerMs: LOAD_MS, idleMs: LOAD_MS, totalMs: LOAD_MS };
/** Refusals that are not about the adapter: of the key, and of an engine that is busy or starts. */
const UNRELATED: ReadonlySet<number | undefined> = new Set([401, 403, 408, 429, 502, 503, 504]);
const NOT_FOUND = 404;
/** Retry-After of a request that stopped waiting for a load. */
const LATE_RETRY_SECONDS = 10;
/** Of the engine's message. */
const MAX_REASON_CHARACTERS = 300;

/** A stream waits as long as for the engine's header. */
export const loadWaitMs = ({ target: { timeouts } }: Call): number =>
	Math.min(timeouts.headerMs, timeouts.totalMs, LOAD_MS);

/** It names no upstream: requests for other adapters, and for none, still use the engine. */
export const lateAdapter = (call: Call, { name }: AccountAdapter): AiError =>
	new AiError(
		"outOfCapacity",
		`The backend '${call.target.backend}' has not loaded the fine-tune ${name} within ${loadWaitMs(call)} ms; the load continues: try again, or raise timeouts.header_ms of the route`,
		{ retryAfter: LATE_RETRY_SECONDS },
	);

type Routes = NonNullable<AdapterEngine["routes"]>;

export function adapterLoads(
	adapter: AccountAdapter,
	{ routes, needs }: AdapterEngine & { routes: Routes },
	call: Call,
): AdapterLoads {
	const { services, target } = call;
	const { adapters: settings } = target;
	const url = routes.isBelowRoot ? target.url.replace(/\/v1$/, "") : target.url;
	const post = (path: string, body: Record<string, unknown>, refusal: Call["refusal"]): Promise<unknown> =>
		postJson(
			{
				...call,
				...(refusal && { refusal }),
				target: { ...target, url, timeouts: TIMEOUTS },
				// Other requests wait for it.
				signal: new AbortController().signal,
			},
			path,
			body,
			AnyText(),
			{ parse: (text) => ({ text }) },
		);
	return {
		now: services.now,
		startTimer: startNativeTimer,
		left: call.signal,
		waitMs: loadWaitMs(call),
		late: () => lateAdapter(call, adapter),
		waitUntil: services.waitUntil,
		async load(id) {
			if (settings?.folder !== undefined) await adapter.writeTo(target.backend);
			let refused: Refusal | undefined;
			try {
				const path = `${settings?.seenAs}/${id}`;
				await post(routes.load, { lora_name: id, lora_path: path }, (refusal) => {
					refused = refusal;
					return call.refusal?.(refusal);
				});
			} catch (error) {
				if (!refused || UNRELATED.has(refused.status)) throw error;
				const message = messageOf(refused);
				if (isLoadedAlready(message)) return;
				throw new RefusedAdapter(loadFailure(call, { adapter, refused, message, needs, settings }));
			}
		},
		unload: (id) => {
			holders.delete(target.url, id);
			return post(routes.unload, { lora_name: id }, undefined).then(
				() => {},
				// It has forgotten the adapter already, or the load that follows fails too.
				() => {},
			);
		},
	};
}

interface LoadRefusal {
	adapter: AccountAdapter;
	refused: Refusal;
	message: string;
	needs: string;
	settings: AdapterSettings | undefined;
}

function loadFailure({ target }: Call, { adapter, refused, message, needs, settings }: LoadRefusal): AiError {
	// FastAPI's answer for a route that does not exist.
	if (refused.status === NOT_FOUND && /^not found$/i.test(message))
		return failureOfTarget(target, "loraUnsupported", `loads no adapters: it needs ${needs}`, {
			retryable: true,
		});
	const { folder, seenAs = "" } = settings ?? {};
	const shown = seenAs === "" ? message : message.replaceAll(seenAs, "");
	const reason = callerMessage(target, shown).slice(0, MAX_REASON_CHARACTERS);
	const hint =
		refused.status === NOT_FOUND
			? ` (adapters.${folder === undefined ? "seen_as" : "folder"} of the backend: docs/adapters.md)`
			: "";
	return failureOfTarget(
		target,
		"engineRefused",
		`could not load the fine-tune ${adapter.name}${reason && `: ${reason}`}${hint}`,
	);
}

/** vLLM's error, or SGLang's result. */
function messageOf({ body }: Refusal): string {
	const failed = Result().safeParse(body);
	return failed.success ? failed.data.error_message : (readError(body).message ?? "");
}

const Result = lazy(() => z.object({ error_message: z.string() }));
