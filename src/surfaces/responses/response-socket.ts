/**
 * The websocket of OpenAI's Responses API (developers.openai.com/api/docs/guides/websocket-mode). A frame `response.create` has the
 * fields of a request, and its events are the frames of the answer. Frames of one `stream_id` run one after the other, those of different
 * ones in parallel. `generate: false` prepares a response without output, which a later frame continues.
 *
 * With `store: false` the connection remembers its last responses (`ConnectionMemory`). Each frame verifies the token of the handshake: a revoked
 * one gets an error, and the socket is closed. Frames that wait are bounded, because a websocket has no backpressure for its sender.
 *
 * Differences from OpenAI: engines cannot take messages while they answer, so `response.steer` gets `response.steer.failed`.
 */
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { badInput, invalidInput } from "../../dialects/invalid-input.ts";
import { openAiError } from "../../dialects/openai-error.ts";
import { onlyFor, requireModel } from "../../dialects/route-dialect.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { gatewayInHeaders, runModel } from "../../gateways/run/model-in-gateway.ts";
import { parseText } from "../../http/body.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import { CLOSE } from "../../http/close-codes.ts";
import { tooLarge } from "../../http/decompress.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import { FrameHolds } from "../../http/frame-holds.ts";
import { type OpenSocket, openSocket } from "../../http/open-socket.ts";
import { isRefusedFrame, RefusedFrames } from "../../http/refused-frames.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import { answerFrameCheck, frameCaller, isTokenRefused, TOKEN_REFUSED } from "../../http/socket-caller.ts";
import type { Caller } from "../../pipeline/request.ts";
import { ConnectionMemory } from "../../responses/connection-memory.ts";
import { dataOf } from "../../responses/event-text.ts";
import { completed, contextOf, readStateful, runStored } from "../../responses/run-stored.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import type { AppCall } from "../route.ts";
import { RESPONSES_DIALECT } from "./response-dialect.ts";

/** As OpenAI's. */
const MAX_CONNECTION_MS = 60 * 60_000;
/** Frames of a connection that run or wait. */
const MAX_OPEN_FRAMES = 32;
/** Bytes of an event. */
const MAX_EVENT_BYTES = 24 * 1024 * 1024;
/** Of answers that a later frame can continue. */
const ENDS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);

const Frame = lazy(() => z.looseObject({ type: z.string(), stream_id: z.string().nullish() }));

interface SocketContext {
	call: AppCall;
	headers: Headers;
	endpoint: string;
	signal: AbortSignal;
	/** The result is a promise if the frame waits for its time. */
	send(frame: object): Promise<void> | undefined;
	/** Sends the error of a frame that the gateway refuses by itself. Closes the socket if it has too many. */
	refuse(frame: object): void;
	/** Before each frame of an answer. Throws `AiError` if the token is not valid any more. */
	requireAnswerFrame(): Promise<void>;
	/** Ends the connection and everything that it runs. */
	close(code: number, reason: string): void;
	memory: ConnectionMemory;
}

export function responseSocket(request: Request, call: AppCall): Response {
	const open = openSocket(call.caller.account);
	const { pathname } = new URL(request.url);
	const { ledgers, now } = call.services;
	const refusedFrames = new RefusedFrames(now, open.close);
	const context: SocketContext = {
		call,
		headers: request.headers,
		endpoint: pathname.slice(pathname.indexOf("v1/")),
		signal: open.closed,
		send: (frame) => open.send(JSON.stringify(frame)),
		refuse(frame) {
			if (refusedFrames.add()) context.send(frame);
		},
		requireAnswerFrame: answerFrameCheck(() => frameCaller(call.caller, ledgers), now),
		close: open.close,
		memory: new ConnectionMemory(call.caller.account, call.services.limits.jsonBytes),
	};
	open.closed.addEventListener("abort", () => context.memory.close(), { once: true });
	serve(open, context);
	return new Response(null, { status: 101, webSocket: open.client });
}

function serve({ receive }: OpenSocket, context: SocketContext): void {
	const { limits, now, waitUntil } = context.call.services;
	const openedAt = now();
	const lanes = new Map<string, Promise<void>>();
	const holds = new FrameHolds(context.call.caller.account, context.signal);
	let open = 0;
	receive((data) => {
		const size = typeof data === "string" ? data.length : data.byteLength;
		if (size > limits.jsonBytes) {
			context.send(errorFrame(tooLarge(limits.jsonBytes), context.call.id));
			return context.close(CLOSE.tooLarge, "a frame is too large");
		}
		if (now() - openedAt > MAX_CONNECTION_MS) {
			context.send({
				type: "error",
				status: 400,
				error: {
					type: "invalid_request_error",
					code: "websocket_connection_limit_reached",
					message: "The connection is older than 60 minutes: open another one.",
					param: null,
				},
			});
			return context.close(CLOSE.normal, "the connection is too old");
		}
		if (open >= MAX_OPEN_FRAMES)
			return context.refuse(
				errorFrame(new AiError("outOfCapacity", `${MAX_OPEN_FRAMES} frames are open`), context.call.id),
			);
		let release: () => void;
		try {
			release = holds.take(size);
		} catch (thrown) {
			return context.refuse(errorFrame(toAiError(thrown), context.call.id));
		}
		open++;
		const lane = laneOf(data);
		const before = lanes.get(lane) ?? Promise.resolve();
		const after = before
			.then(() => answer(data, context))
			.finally(() => {
				open--;
				release();
				if (lanes.get(lane) === after) lanes.delete(lane);
			});
		lanes.set(lane, after);
		waitUntil(after);
	});
}

/** The lane of a frame, as far as it can be read. */
function laneOf(data: unknown): string {
	const frame = typeof data === "string" ? parseJson(data) : undefined;
	return isRecord(frame) && typeof frame.stream_id === "string" ? frame.stream_id : "";
}

/** Never rejects. */
async function answer(data: string | ArrayBuffer, context: SocketContext): Promise<void> {
	const { call, refuse, requireAnswerFrame, send, signal } = context;
	if (signal.aborted) return;
	const id = call.services.uuid();
	let lane: string | undefined;
	try {
		const caller = await frameCaller(call.caller, call.services.ledgers);
		if (typeof data !== "string") throw badInput("expected a text frame");
		const frame = validate(Frame(), boundDepth(parseText(data, "the frame"), call.services.limits.jsonDepth));
		const { type, stream_id, ...fields } = frame;
		lane = stream_id ?? undefined;
		if (type === "response.steer") return refuse(steerFailed(fields, lane));
		if (type !== "response.create")
			throw invalidInput(`type: ${JSON.stringify(type.slice(0, 64))} is not supported`);
		await create(fields, { ...context, caller, id, lane });
	} catch (thrown) {
		call.services.log(toAiError(thrown), id);
		// A caller whose token is not valid any more gets no other error.
		const error = await requireAnswerFrame().then(() => toAiError(thrown), toAiError);
		const frame = { ...errorFrame(error, id), ...(lane !== undefined && { stream_id: lane }) };
		if (isRefusedFrame(error)) refuse(frame);
		else send(frame);
		if (isTokenRefused(error)) context.close(CLOSE.policyViolation, TOKEN_REFUSED);
	}
}

/** The status and the error, as of a refused request. */
function errorFrame(error: AiError, requestId: string): object {
	return { type: "error", status: error.status, error: openAiError(error, requestId) };
}

const steerFailed = (fields: Record<string, unknown>, lane: string | undefined): object => ({
	type: "response.steer.failed",
	...(typeof fields.previous_response_id === "string" && { response_id: fields.previous_response_id }),
	error: {
		type: "invalid_request_error",
		code: "steering_not_supported",
		message: "Engines cannot take messages while they answer: send response.create after the end.",
		param: null,
	},
	...(lane !== undefined && { stream_id: lane }),
});

interface FrameContext extends SocketContext {
	/** Verified for this frame. */
	caller: Caller;
	id: string;
	lane: string | undefined;
}

async function create(sent: Record<string, unknown>, context: FrameContext): Promise<void> {
	const { call, caller, endpoint, headers, id, memory, signal } = context;
	const { services } = call;
	if (sent.background === true) throw invalidInput("background: not supported over a websocket");
	const { generate, stream: _, ...rest } = sent;
	const { model } = requireModel(rest);
	const fields = memory.continued({ ...rest, model, stream: true });
	if (generate === false) return prepare(fields, context);
	let failed: AiError | undefined;
	const response = await runModel(
		{
			...{ id, caller, signal },
			endpoint: () => endpoint,
			format: () => "openai",
			async read() {
				const complete = await completed(fields, caller, services);
				return inferenceRequest({
					...{ id, caller, model, signal, headers, fields: complete },
					dialect: onlyFor(RESPONSES_DIALECT),
					inputs: { fields: complete },
				});
			},
			gateway: (name) => gatewayInHeaders(headers, name),
			run: runStored,
			respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare),
			failure(error, requestId) {
				failed = error;
				return responsesFailure(error, requestId);
			},
		},
		services,
	);
	await relay({ response, failed }, fields, context);
}

/** A response without output, in the memory of the connection. What it continues must exist. */
async function prepare(
	fields: Record<string, unknown>,
	{ call, caller, lane, memory, requireAnswerFrame, send }: FrameContext,
): Promise<void> {
	await contextOf(fields, readStateful(fields), caller, call.services);
	await requireAnswerFrame();
	const response = memory.prepare(fields, call.services);
	const extra = lane === undefined ? {} : { stream_id: lane };
	send({
		type: "response.created",
		sequence_number: 0,
		response: { ...response, status: "in_progress" },
		...extra,
	});
	send({ type: "response.completed", sequence_number: 1, response, ...extra });
}

/** `failed`: the error of the last step that has failed. */
async function relay(
	{ response, failed }: { response: Response; failed: AiError | undefined },
	fields: Record<string, unknown>,
	context: FrameContext,
): Promise<void> {
	const { lane, memory, refuse, requireAnswerFrame, send } = context;
	const extra = lane === undefined ? {} : { stream_id: lane };
	if (!response.ok || !response.body) {
		const body: unknown = await response.json().catch(() => undefined);
		const error = isRecord(body) && isRecord(body.error) ? body.error : { message: "The request failed." };
		const frame = { type: "error", status: response.status, error, ...extra };
		await requireAnswerFrame();
		if (failed && isRefusedFrame(failed)) return refuse(frame);
		await send(frame);
		return;
	}
	const splitter = new EventSplitter();
	for await (const chunk of response.body) {
		const { bytes, ends } = splitter.push(chunk);
		let start = 0;
		for (const end of ends) {
			const data = dataOf(bytes.subarray(start, end));
			start = end;
			if (!data) continue;
			if (ENDS.has(data.type)) memory.remember(fields, data.response);
			await requireAnswerFrame();
			await send({ ...data, ...extra });
		}
		if (splitter.heldBytes > MAX_EVENT_BYTES)
			throw new AiError("executionFailed", `An event of the answer is larger than ${MAX_EVENT_BYTES} bytes`);
	}
}
