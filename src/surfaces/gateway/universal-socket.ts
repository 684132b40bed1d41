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
import { validate } from "../../dialects/validation/validation.ts";
import { mergedOptions, optionsInConfig } from "../../gateways/options.ts";
import { boundDepth, parseText } from "../../http/body.ts";
import { offeredProtocols, selectedProtocol } from "../../http/credentials.ts";
import { tooLarge } from "../../http/decompress.ts";
import { frameCaller, isTokenRefused, POLICY_VIOLATION, TOKEN_REFUSED } from "../../http/socket-caller.ts";
import { encodeBase64 } from "../../media/base64.ts";
import { isDone, SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import { runSteps, type StepsContext } from "./gateway.ts";
import { gatewayFailure } from "./gateway-failure.ts";
import { readSteps, type Step } from "./step.ts";

/** Each of them may hold an answer in memory. */
const MAX_OPEN_REQUESTS = 32;
const NORMAL = 1000;
const TOO_BIG = 1009;

const Frame = lazy(() =>
	z.object({
		type: z.literal("universal.create"),
		request: z.looseObject({ eventId: z.string().optional() }),
	}),
);

type SocketContext = Omit<StepsContext, "signal">;
type Metadata = Record<string, string | number | null | undefined>;

/** A browser requires that the answer selects one of the protocols that it offers. */
export function universalSocket(request: Request, context: SocketContext): Response {
	const { 0: client, 1: server } = new WebSocketPair();
	server.accept();
	serve(server, context);
	const selected = selectedProtocol(request) ?? offeredProtocols(request)[0];
	return new Response(null, {
		status: 101,
		webSocket: client,
		...(selected && { headers: { "sec-websocket-protocol": selected } }),
	});
}

function serve(socket: WebSocket, context: SocketContext): void {
	const { ledgers, limits } = context.services;
	const closed = new AbortController();
	let open = 0;
	const send = (frame: object): void => {
		if (!closed.signal.aborted) socket.send(JSON.stringify(frame));
	};
	let isClosing = false;
	socket.addEventListener("message", ({ data }) => {
		if (isClosing) return;
		isClosing = typeof data === "string" && data.length > limits.jsonBytes;
		const frame = isClosing
			? tooLarge(limits.jsonBytes)
			: open >= MAX_OPEN_REQUESTS
				? new AiError("outOfCapacity", `${MAX_OPEN_REQUESTS} requests are open`)
				: readFrame(data, limits.jsonDepth);
		open++;
		const answering = frameCaller(context.caller, ledgers).then(
			(identified) => answer(frame, { ...context, caller: identified, signal: closed.signal }, send),
			async (thrown) => {
				const error = toAiError(thrown);
				await sendFailure(error, send);
				if (!isTokenRefused(error)) return;
				isClosing = true;
				closed.abort();
				socket.close(POLICY_VIOLATION, TOKEN_REFUSED);
			},
		);
		void answering.finally(() => {
			open--;
			if (frame instanceof AiError && isClosing) {
				closed.abort();
				socket.close(TOO_BIG, "a frame is too large");
			}
		});
	});
	socket.addEventListener("close", () => {
		closed.abort();
		try {
			socket.close(NORMAL);
		} catch {
			// Both sides have closed it.
		}
	});
	socket.addEventListener("error", () => closed.abort());
}

interface FrameRequest {
	eventId?: string | undefined;
	step: object;
}

/** The failure of a frame that cannot be read is returned, because it is logged like a request. */
function readFrame(data: string | ArrayBuffer, jsonDepth: number): FrameRequest | AiError {
	try {
		if (typeof data !== "string") throw new AiError("badInput", "Error: expected a text frame");
		const { request } = validate(Frame(), boundDepth(parseText(data, "the frame"), jsonDepth));
		const { eventId, ...step } = request;
		return { eventId, step };
	} catch (thrown) {
		return toAiError(thrown);
	}
}

/** Never rejects. */
async function answer(
	frame: FrameRequest | AiError,
	context: StepsContext,
	send: (frame: object) => void,
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
		const response = await runSteps(read, { ...context, options });
		metadata = { ...metadataOf(response), ...(eventId !== undefined && { eventId }) };
		await sendAnswer(response, metadata, send);
	} catch (thrown) {
		await sendFailure(toAiError(thrown), send, metadata);
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

async function sendAnswer(
	response: Response,
	metadata: Metadata,
	send: (frame: object) => void,
): Promise<void> {
	const { eventId } = metadata;
	if (!response.ok) {
		const error = { ...metadata, statusCode: response.status };
		return send({ type: "universal.error", metadata: error, response: await bodyValue(response) });
	}
	if (!response.headers.get("content-type")?.startsWith(SSE_CONTENT_TYPE) || !response.body)
		return send({ type: "universal.created", metadata, response: await bodyValue(response) });
	send({ type: "universal.created", metadata });
	const parser = createParser({
		onEvent: ({ data }) => {
			if (!isDone(data))
				send({ type: "universal.stream", metadata: { eventId }, response: parseJson(data) ?? data });
		},
	});
	for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) parser.feed(chunk);
	send({ type: "universal.done", metadata });
}

/** JSON as a value, text as text, other bodies as base64. */
async function bodyValue(response: Response): Promise<unknown> {
	const type = response.headers.get("content-type") ?? "";
	if (/^(?:text\/|application\/(?:[\w.+-]+\+)?json)/i.test(type) || type === "") {
		const text = await response.text();
		return parseJson(text) ?? text;
	}
	return encodeBase64(new Uint8Array(await response.arrayBuffer()));
}

async function sendFailure(
	error: AiError,
	send: (frame: object) => void,
	metadata: Metadata = {},
): Promise<void> {
	const { status } = error;
	const response = await gatewayFailure(error).json();
	send({ type: "universal.error", metadata: { ...metadata, statusCode: status }, response });
}
