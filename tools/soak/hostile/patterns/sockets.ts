/** Patterns of tokens that run models, over websockets: unread, flooding, silent, and frames of every size. */
import type { Attacker, Pattern } from "../attacker.ts";
import { type Connection, frame } from "../connection.ts";
import { api, type Behaviour, chat, FLOOD, gateway, HOLD_MS, MEGABYTE, padding } from "./requests.ts";

const byToken = (name: string, attempt: Pattern["attempt"]): Pattern => ({ name, by: "token", attempt });

const step = (model: Behaviour, stream = false): string =>
	JSON.stringify({
		type: "universal.create",
		request: {
			provider: "custom-evil",
			endpoint: "chat/completions",
			headers: { authorization: "Bearer sk-of-the-attacker" },
			query: chat("Hi", { model, stream }),
		},
	});
const universal = (a: Attacker): Promise<Connection> => a.webSocket(gateway(a, "plain"));
const responses = (a: Attacker): Promise<Connection> => a.webSocket(`${api(a)}/v1/responses`);
const response = (model: Behaviour): string =>
	JSON.stringify({ type: "response.create", model: `hostile/${model}`, input: "Hi" });

/** Sends frames without reading an answer. */
const unread =
	(open: (a: Attacker) => Promise<Connection>, text: string, frames: number) =>
	async (a: Attacker): Promise<void> => {
		const socket = await open(a);
		socket.socket.pause();
		for (let sent = 0; sent < frames; sent++) await socket.write(frame(text), a.signal);
		await a.hold(HOLD_MS);
	};

export const SOCKET_PATTERNS: readonly Pattern[] = [
	byToken("a websocket, unread endless streams", unread(universal, step("endless", true), 8)),
	byToken("a websocket, unread large answers", unread(universal, step("large"), 32)),
	byToken("the websocket of responses, unread", unread(responses, response("endless"), 4)),
	byToken("a websocket, 1,000 frames", async (a) => {
		const socket = await universal(a);
		const text = frame(step("quick"));
		for (let sent = 0; sent < 1_000 && socket.isOpen && !a.signal.aborted; sent++) {
			await socket.write(text, a.signal);
			await a.hold(FLOOD.framesMs);
		}
	}),
	byToken("a websocket, frames that are not JSON", async (a) => {
		const socket = await universal(a);
		for (let sent = 0; sent < 200 && socket.isOpen && !a.signal.aborted; sent++) {
			await socket.write(frame("{"), a.signal);
			await a.hold(FLOOD.framesMs);
		}
	}),
	byToken("a websocket, a frame of 20 MB", async (a) => {
		const socket = await universal(a);
		await socket.write(frame(padding(20 * MEGABYTE)), a.signal);
		await Promise.race([socket.closed, a.hold(HOLD_MS)]);
	}),
	byToken("a websocket, a frame in endless parts", async (a) => {
		const socket = await universal(a);
		await socket.write(frame("{", { final: false }), a.signal);
		const part = frame(padding(64 * 1_024), { opcode: 0, final: false });
		for (let sent = 0; sent < 1_000 && socket.isOpen && !a.signal.aborted; sent++) {
			await socket.write(part, a.signal);
			await a.hold(FLOOD.bytesMs);
		}
	}),
	byToken("a silent websocket", async (a) => {
		await universal(a);
		await a.hold(HOLD_MS);
	}),
	byToken("a silent websocket of responses", async (a) => {
		await responses(a);
		await a.hold(HOLD_MS);
	}),
	byToken("a websocket that waits for a silent engine", async (a) => {
		const socket = await universal(a);
		for (let sent = 0; sent < 32; sent++) await socket.write(frame(step("silent")), a.signal);
		await a.hold(HOLD_MS);
	}),
	byToken("a websocket that is left", async (a) => {
		const socket = await universal(a);
		await socket.write(frame(step("slow", true)), a.signal);
		await a.hold(500);
	}),
	byToken("pings", async (a) => {
		const socket = await universal(a);
		const ping = frame("ping", { opcode: 9 });
		for (let sent = 0; sent < 2_000 && socket.isOpen && !a.signal.aborted; sent++) {
			await socket.write(ping, a.signal);
			await a.hold(FLOOD.framesMs);
		}
	}),
];
