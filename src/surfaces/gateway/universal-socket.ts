/**
 * AI Gateway's universal WebSocket (developers.cloudflare.com/ai-gateway/usage/websockets-api/non-realtime-api): each frame
 * `universal.create` is one step, and its answer arrives as `universal.created`, or as `universal.created`, `universal.stream` for
 * each event and `universal.done`. Requests of one socket run in parallel; `eventId` relates the frames.
 *
 * The product documents no frame for failures. Here it is `universal.error`: `metadata` with `statusCode`, and the body in
 * `response`. Binary answers are base64.
 */
import { createParser } from "eventsource-parser";
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { mergedOptions, optionsInConfig } from "../../gateways/options.ts";
import type { Step } from "../../gateways/run/step.ts";
import { bufferedBody } from "../../gateways/scanning/buffered.ts";
import { parseText } from "../../http/body.ts";
import { boundDepth } from "../../http/bound-depth.ts";
import { CLOSE } from "../../http/close-codes.ts";
import { offeredProtocols, selectedProtocol } from "../../http/credentials.ts";
import { tooLarge } from "../../http/decompress.ts";
import { FrameHolds } from "../../http/frame-holds.ts";
import { type OpenSocket, openSocket } from "../../http/open-socket.ts";
import { isRefusedFrame, RefusedFrames } from "../../http/refused-frames.ts";
import { answerFrameCheck, frameCaller, isTokenRefused, TOKEN_REFUSED } from "../../http/socket-caller.ts";
import { encodeBase64 } from "../../media/base64.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { isDone, SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import { gatewayFailure } from "./gateway-failure.ts";
import { readSteps } from "./step.ts";
import { runStepsOfFrame, type StepsRequest } from "./steps.ts";

/** Each of them may hold an answer in memory. */
const MAX_OPEN_REQUESTS = 32;
/** Requests, and refusals that are not sent yet. */
const MAX_WAITING_FRAMES = 4 * MAX_OPEN_REQUESTS;
/** Bytes of an answer that is one frame. */
const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
/** Characters of an event. */
const MAX_EVENT = 8 * 1024 * 1024;

interface Answering {
	/** Sends a frame of an answer. Throws `AiError` if the token is not valid any more. */
	send(frame: string): Promise<void>;
	/** A frame gets this error. Closes the socket if the gateway has refused too many by itself. */
	countError(error: AiError): void;
	/** Sends the error. Closes the socket if its token is refused. */
	fail(error: AiError, metadata?: Metadata): Promise<void>;
}

const Frame = lazy(() =>
	z.object({
		type: z.literal("universal.create"),
		request: z.looseObject({ eventId: z.string().optional() }),
	}),
);

type SocketContext = Omit<StepsRequest, "signal">;
type Metadata = Record<string, string | number | null | undefined>;

/** A browser requires that the answer selects one of the protocols that it offers. */
export function universalSocket(request: Request, context: SocketContext): Response {
	const open = openSocket(context.caller.account);
	serve(open, context);
	const selected = selectedProtocol(request) ?? offeredProtocols(request)[0];
	return new Response(null, {
		status: 101,
		webSocket: open.client,
		...(selected && { headers: { "sec-websocket-protocol": selected } }),
	});
}

function serve({ close, closed, receive, send }: OpenSocket, context: SocketContext): void {
	const { ledgers, limits, now } = context.services;
	const requireAnswerFrame = answerFrameCheck(() => frameCaller(context.caller, ledgers), now);
	const holds = new FrameHolds(context.caller.account, closed);
	const refusedFrames = new RefusedFrames(now, close);
	let open = 0;
	/** After a frame that is too large: the socket closes when its error is sent. */
	let isClosing = false;
	const answering: Answering = {
		async send(frame) {
			await requireAnswerFrame();
			await send(frame);
		},
		countError(error) {
			if (isRefusedFrame(error)) refusedFrames.add();
		},
		async fail(error, metadata) {
			await send(await failureFrame(error, metadata));
			if (isTokenRefused(error)) close(CLOSE.policyViolation, TOKEN_REFUSED);
		},
	};
	receive((data) => {
		if (isClosing) return;
		if (open >= MAX_WAITING_FRAMES)
			return close(CLOSE.tryAgainLater, `more than ${MAX_WAITING_FRAMES} frames wait`);
		const isTooLarge = typeof data === "string" && data.length > limits.jsonBytes;
		isClosing = isTooLarge;
		const frame = isTooLarge
			? tooLarge(limits.jsonBytes)
			: open >= MAX_OPEN_REQUESTS
				? new AiError("outOfCapacity", `${MAX_OPEN_REQUESTS} requests are open`)
				: readFrame(data, limits.jsonDepth, holds);
		open++;
		const answered = frameCaller(context.caller, ledgers).then(
			(identified) => answer(frame, { ...context, caller: identified, signal: closed }, answering),
			async (thrown) => {
				const error = toAiError(thrown);
				answering.countError(error);
				await answering.fail(error);
			},
		);
		void answered.finally(() => {
			open--;
			if (!(frame instanceof AiError)) frame.release();
			else if (isTooLarge) close(CLOSE.tooLarge, "a frame is too large");
		});
	});
}

interface FrameRequest {
	eventId?: string | undefined;
	step: object;
	/** After the answer: its bytes are not counted any more. */
	release(): void;
}

/** The failure of a frame that cannot be read is returned, because it is logged like a request. */
function readFrame(data: string | ArrayBuffer, jsonDepth: number, holds: FrameHolds): FrameRequest | AiError {
	let release = (): void => {};
	try {
		if (typeof data !== "string") throw new AiError("badInput", "Error: expected a text frame");
		release = holds.take(data.length);
		const { request } = validate(Frame(), boundDepth(parseText(data, "the frame"), jsonDepth));
		const { eventId, ...step } = request;
		return { eventId, step, release };
	} catch (thrown) {
		release();
		return toAiError(thrown);
	}
}

/** Never rejects. */
async function answer(
	frame: FrameRequest | AiError,
	context: StepsRequest,
	answering: Answering,
): Promise<void> {
	const eventId = frame instanceof AiError ? undefined : frame.eventId;
	let metadata: Metadata = { eventId };
	const read = (): Step[] => {
		if (frame instanceof AiError) throw frame;
		return readSteps([frame.step]);
	};
	try {
		// The id of a log has a format. That of the frames is the client's, whatever it is.
		const options = mergedOptions(optionsInConfig({ eventId }), context.options);
		const { response, failed } = await runStepsOfFrame(read, { ...context, options });
		if (failed) answering.countError(failed);
		metadata = { ...metadataOf(response), ...(eventId !== undefined && { eventId }) };
		await sendAnswer(response, metadata, {
			account: context.caller.account,
			signal: context.signal,
			...answering,
		});
	} catch (thrown) {
		await answering.fail(toAiError(thrown), metadata);
	}
}

function metadataOf({ headers }: Response): Metadata {
	return {
		cacheStatus: headers.get("cf-aig-cache-status"),
		eventId: headers.get("cf-aig-event-id"),
		logId: headers.get("cf-aig-log-id"),
		step: headers.get("cf-aig-step"),
		contentType: headers.get("content-type"),
	};
}

/** `signal`: the socket has closed. */
type SentAnswering = Pick<Answering, "send"> & { account: string; signal: AbortSignal };

async function sendAnswer(
	response: Response,
	metadata: Metadata,
	{ account, signal, send }: SentAnswering,
): Promise<void> {
	const { eventId } = metadata;
	const isStream = response.headers.get("content-type")?.startsWith(SSE_CONTENT_TYPE) && response.body;
	if (!response.ok || !isStream) {
		const head = response.ok
			? { type: "universal.created", metadata }
			: { type: "universal.error", metadata: { ...metadata, statusCode: response.status } };
		return sendInOneFrame(response, head, { account, signal, send });
	}
	await send(JSON.stringify({ type: "universal.created", metadata }));
	let events: string[] = [];
	let size = 0;
	const parser = createParser({ onEvent: ({ data }) => events.push(data) });
	for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
		parser.feed(chunk);
		size = events.length > 0 ? 0 : size + chunk.length;
		if (size > MAX_EVENT) throw tooLong("An event of the answer", MAX_EVENT);
		const complete = events;
		events = [];
		for (const data of complete)
			if (!isDone(data))
				await send(
					JSON.stringify({
						type: "universal.stream",
						metadata: { eventId },
						response: parseJson(data) ?? data,
					}),
				);
	}
	await send(JSON.stringify({ type: "universal.done", metadata }));
}

/** Sends an answer as one frame. Its bytes count as buffered until the frame is sent or the socket closes. */
async function sendInOneFrame(
	response: Response,
	head: object,
	{ account, signal, send }: SentAnswering,
): Promise<void> {
	const hold = new BufferHold(account).releaseOn(signal);
	try {
		await send(await frameOf(response, head, hold));
	} finally {
		hold.release();
	}
}

/** `response` of the frame is JSON as a value, text as text, and another body as base64. While the frame waits, only its text is in memory. */
async function frameOf(response: Response, head: object, hold: BufferHold): Promise<string> {
	const bytes = await bufferedBody(response, { hold, maxBytes: MAX_ANSWER_BYTES });
	if (!bytes) throw tooLong("The answer", MAX_ANSWER_BYTES);
	return JSON.stringify({ ...head, response: readValue(response, bytes) });
}

const tooLong = (what: string, limit: number): AiError =>
	new AiError("requestTooLarge", `${what} is too large for a websocket: more than ${limit} bytes`);

function readValue(response: Response, bytes: Uint8Array): unknown {
	const type = response.headers.get("content-type") ?? "";
	if (/^(?:text\/|application\/(?:[\w.+-]+\+)?json)/i.test(type) || type === "") {
		const text = decodeUtf8(bytes);
		return parseJson(text) ?? text;
	}
	return encodeBase64(bytes);
}

async function failureFrame(error: AiError, metadata: Metadata = {}): Promise<string> {
	const { status } = error;
	const response = await gatewayFailure(error).json();
	return JSON.stringify({ type: "universal.error", metadata: { ...metadata, statusCode: status }, response });
}
