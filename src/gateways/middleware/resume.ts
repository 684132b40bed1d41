/**
 * Makes the stream of an answer resumable, if the caller requests it with `cf-aig-resumable`, or if the operator makes all streams
 * resumable that are so in the product. From its first event on, the stream continues when the caller disconnects, and is charged as
 * complete. `cf-aig-run-id` is its id.
 */
import { BufferHold } from "../../core/process-counts.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import type { NewRun, StreamRuns } from "../client/stream-runs.ts";
import { type GatewayMiddleware, type GatewayRequest, type GatewayStep, WORKERS_AI } from "../request.ts";
import { detached } from "../resume/detached-stream.ts";

/** Streams above this size cannot be resumed. */
const MAX_RUN_BYTES = 8 * 1024 * 1024;

interface ResumeServices {
	gatewayRules: { resumableStreams: boolean };
	streamRuns: StreamRuns;
	waitUntil(promise: Promise<unknown>): void;
	wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const resumeMiddleware =
	({ gatewayRules, streamRuns, wait, waitUntil }: ResumeServices): GatewayMiddleware =>
	async (request, next) => {
		const { signal: caller, step, exchange } = request;
		const { resumable = gatewayRules.resumableStreams && isResumableInProduct(step) } = step.options;
		if (!resumable) return next(request);
		const generation = new AbortController();
		const abort = (): void => generation.abort(caller.reason);
		if (caller.aborted) abort();
		caller.addEventListener("abort", abort);
		const response = await next({ ...request, signal: generation.signal });
		const contentType = response.headers.get("content-type") ?? "";
		if (!response.ok || !response.body || !contentType.startsWith(SSE_CONTENT_TYPE)) return response;
		const run = await begin(streamRuns, contentType, request);
		if (!run) return response;
		// From here on the run has the events, also if the caller is gone.
		caller.removeEventListener("abort", abort);
		const { body, ended, done } = detached(response.body, {
			run: run.calls,
			maxBytes: MAX_RUN_BYTES,
			hold: new BufferHold(request.account),
			caller,
			wait,
		});
		// The log does not wait for the run's object: a process that is killed meanwhile would lose it.
		exchange.reportAfter(ended);
		waitUntil(done);
		const withRunId = new Response(body, response);
		withRunId.headers.set("cf-aig-run-id", run.id);
		return withRunId;
	};

/** Models of other providers on the run API. */
const isResumableInProduct = ({ plane, provider }: GatewayStep): boolean =>
	plane === "run" && provider !== WORKERS_AI;

/** `undefined`: the object cannot be called, so the stream is sent without an id. */
async function begin(
	runs: StreamRuns,
	contentType: string,
	{ account, settings }: GatewayRequest,
): Promise<NewRun | undefined> {
	try {
		const run = runs.create(account);
		await run.calls.begin({ account, gateway: settings.id, contentType });
		return run;
	} catch {
		return undefined;
	}
}
