/** A live transcription: the microphone to a websocket of the gateway, and its events back. */
import { type Api, ApiError, pathOfModel } from "../api/client.ts";
import worklet from "./pcm-worklet.ts?worker&url";

const SAMPLE_RATE = 16_000;
/** A websocket of a browser has no headers, so a subprotocol carries the token. The gateway selects the other one. */
const PROTOCOL = "ganglion";
const TOKEN_PREFIX = "cf-aig-authorization.";
/** The gateway answers it with the last event of the session, and closes. */
const CLOSE = JSON.stringify({ type: "CloseStream" });

export interface LiveEvent {
	event?: string;
	turn_index?: number;
	transcript?: string;
}

interface LiveOptions {
	model: string;
	onEvent(event: LiveEvent): void;
	/** The session has ended. `problem`: why, unless it was stopped. */
	onEnd(problem?: string): void;
}

/** Resolves when the microphone is connected. The returned function ends the session. */
export async function startLive(api: Api, { model, onEvent, onEnd }: LiveOptions): Promise<() => void> {
	const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(() => {
		throw new Error("The microphone cannot be used");
	});
	const context = new AudioContext({ sampleRate: SAMPLE_RATE });
	await context.audioWorklet.addModule(worklet).catch(() => {
		for (const track of stream.getTracks()) track.stop();
		throw new ApiError(0, "The gateway cannot be reached");
	});
	const node = new AudioWorkletNode(context, "pcm");
	const socket = openSocket(api, model);
	const release = (): void => {
		for (const track of stream.getTracks()) track.stop();
		if (context.state !== "closed") void context.close();
	};
	node.port.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
		if (socket.readyState === WebSocket.OPEN) socket.send(data);
	};
	socket.onmessage = ({ data }) => {
		if (typeof data === "string") onEvent(JSON.parse(data));
	};
	socket.onclose = ({ code, reason }) => {
		release();
		onEnd(code === 1000 ? undefined : reason || `The connection was closed (${code})`);
	};
	context.createMediaStreamSource(stream).connect(node);
	return () => {
		release();
		if (socket.readyState === WebSocket.OPEN) socket.send(CLOSE);
		else socket.close();
	};
}

function openSocket(api: Api, model: string): WebSocket {
	const query = new URLSearchParams({ encoding: "linear16", sample_rate: String(SAMPLE_RATE) });
	const address = new URL(api.account(`/ai/run/${pathOfModel(model)}?${query}`), location.origin);
	address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
	const { token } = api.credentials;
	return new WebSocket(
		address,
		token === undefined ? [] : [PROTOCOL, TOKEN_PREFIX + encodeURIComponent(token)],
	);
}
