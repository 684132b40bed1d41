/** Requests that cost a gateway as much as possible: bodies, headers, addresses and tokens. */

const MB = 1_000_000;
/** A stranger's body that is larger is not read. */
const SMALL = 16_000;
/** The runtime refuses longer headers and addresses. */
const LONG = 60_000;

export interface Hostile {
	label: string;
	/** From the origin. */
	path: string;
	/** `invented`: of an account that exists. */
	token: "none" | "invented" | "valid";
	method?: string;
	headers: Record<string, string>;
	body?: Buffer;
	/** Sent without a `content-length`. */
	chunked?: boolean;
	/** A valid request of this size: what is above its cost is measured. */
	plain?: Buffer;
	/** A valid request itself. */
	noBar?: boolean;
}

type Attack = Omit<Hostile, "token">;

const repeated = (unit: Buffer | string, bytes: number): Buffer => {
	const piece = Buffer.from(unit);
	return Buffer.concat(Array<Buffer>(Math.floor(bytes / piece.length)).fill(piece));
};
const keys = (bytes: number): Buffer => {
	const members = Array.from(
		{ length: Math.floor(bytes / 14) },
		(_, i) => `"${String(i).padStart(8, "k")}":1`,
	);
	return Buffer.from(`{${members.join(",")}}`);
};
const nested = (bytes: number): Buffer =>
	Buffer.concat([repeated('{"a":[', bytes / 2), Buffer.from("1"), repeated("]}", bytes / 6)]);
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const atom = (bytes: number): Buffer => {
	const head = Buffer.alloc(8);
	head.writeUInt32BE(bytes, 0);
	head.write("free", 4);
	return head;
};
const ftyp = Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "latin1");
const plainMp4 = Buffer.concat([ftyp, atom(25 * MB), Buffer.alloc(25 * MB - 8)]);
const mp4 = Buffer.concat([ftyp, repeated(atom(8), 25 * MB)]);
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8]), repeated(Buffer.from([0xff, 0xe1, 0, 2]), 24 * MB)]);
const form = repeated('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n', 26 * MB);
const messages = (bytes: number): Buffer =>
	json({ model: "m", messages: Array(Math.floor(bytes / 30)).fill({ role: "user", content: "" }) });
const patterns = Array.from({ length: 120 }, (_, i) => ({
	type: "function",
	function: {
		name: `f${i}`,
		parameters: { type: "object", properties: { a: { anyOf: Array(20).fill({ pattern: "(a+)+" }) } } },
	},
}));

const ACCOUNT = "/client/v4/accounts/bench";
const AI = `${ACCOUNT}/ai`;
const CHAT = `${AI}/v1/chat/completions`;
const MESSAGES = `${AI}/v1/messages`;
const GEMINI = `${AI}/v1beta/models/@cf/moonshotai/kimi-k2.6`;
const RUN = `${AI}/run/@cf/meta/llama-3.1-8b-instruct-fp8`;
const WHISPER = `${AI}/run/@cf/openai/whisper`;
const VISION = `${AI}/run/@cf/llava-hf/llava-1.5-7b-hf`;
const LIVE = `${AI}/run/@cf/deepgram/flux?encoding=linear16&sample_rate=16000`;
const GATEWAY = "/v1/bench/default";

const FORM = { "content-type": "multipart/form-data; boundary=b" };
const BYTES = { "content-type": "application/octet-stream" };
const UPGRADE = {
	connection: "upgrade",
	upgrade: "websocket",
	"sec-websocket-version": "13",
	"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};
const post = (label: string, path: string, body: Buffer, headers: Record<string, string> = {}): Attack => ({
	label,
	path,
	body,
	headers: { "content-type": "application/json", ...headers },
});
const get = (label: string, path: string, headers: Record<string, string> = {}): Attack => ({
	label,
	path,
	method: "GET",
	headers,
});

const anthropicBlocks = (bytes: number): Buffer =>
	json({
		model: "@cf/moonshotai/kimi-k2.6",
		max_tokens: 1,
		messages: [{ role: "user", content: Array(Math.floor(bytes / 25)).fill({ type: "text", text: "" }) }],
	});
const geminiParts = (bytes: number): Buffer =>
	json({ contents: [{ role: "user", parts: Array(Math.floor(bytes / 12)).fill({ text: "" }) }] });
const steps = (bytes: number): Buffer =>
	json(Array(Math.floor(bytes / 70)).fill({ provider: "openai", endpoint: "x", headers: {}, query: {} }));

/** Bodies that both a stranger and a caller with a token send. */
const bodies = (bytes: number, size: string): Attack[] => [
	post(`${size} of JSON keys`, CHAT, keys(bytes)),
	post(`${size} of nested JSON`, CHAT, nested(bytes)),
	post(`${size} of empty messages`, CHAT, messages(bytes)),
	post(`${size} of empty blocks, Messages`, MESSAGES, anthropicBlocks(bytes)),
	post(`${size} of empty blocks, count_tokens`, `${MESSAGES}/count_tokens`, anthropicBlocks(bytes)),
	post(`${size} of empty parts, Gemini`, `${GEMINI}:generateContent`, geminiParts(bytes)),
	post(`${size} of steps, universal endpoint`, GATEWAY, steps(bytes)),
	post(`${size} of JSON keys, compat`, `${GATEWAY}/compat/chat/completions`, keys(bytes)),
];

/** Headers and addresses, for all callers. */
const heads: Attack[] = [
	post("60 KB in one header", CHAT, messages(100), { "anthropic-beta": "a,".repeat(LONG / 2) }),
	post("60 KB of cookies", CHAT, messages(100), { cookie: "a=1; ".repeat(LONG / 5) }),
	post("60 KB of metadata for a gateway", `${GATEWAY}/compat/chat/completions`, messages(100), {
		"cf-aig-metadata": keys(LONG).toString(),
	}),
	post("12,000 query parameters", `${CHAT}?${"a=1&".repeat(12_000)}`, messages(100)),
	post("60 KB of percent-encoded model", `${AI}/run/@cf/${"%2E%41".repeat(LONG / 6)}`, json({ prompt: "a" })),
	post("60 KB of slashes", `${AI}/run/${"/".repeat(LONG)}`, json({ prompt: "a" })),
	get("60 KB of percent-encoded account", `/client/v4/accounts/${"%41".repeat(LONG / 3)}/ai/usage`),
	get("12,000 query parameters of a search", `${AI}/models/search?${"task=a&".repeat(8_000)}`),
	get("a websocket", LIVE, UPGRADE),
	get("a websocket of Responses", `${AI}/v1/responses`, UPGRADE),
	get("the OpenAPI document", "/openapi.json"),
	get("the documentation", "/docs"),
	get("the console", "/console/"),
	get("the console's configuration of 60 KB", `/console/${"a/".repeat(LONG / 2)}`),
	get("metrics", "/metrics"),
];

const ofStrangers: Attack[] = [
	...bodies(SMALL, "16 KB"),
	...heads,
	post("7 MB of JSON keys", CHAT, keys(7 * MB)),
	{ ...post("7 MB of JSON keys, chunked", CHAT, keys(7 * MB)), chunked: true },
	post(
		"16 KB of tools with patterns",
		CHAT,
		json({ model: "m", messages: [], tools: patterns }).subarray(0, SMALL),
	),
	post("16 KB in one list of numbers", WHISPER, json({ audio: Array(7_900).fill(1) })),
	post("26 MB form of empty parts", `${AI}/v1/audio/transcriptions`, form, FORM),
	post("26 MB form to Markdown", `${AI}/tomarkdown`, form, FORM),
	post("MP4 of empty boxes, 25 MB", WHISPER, mp4, BYTES),
	get("a token of 60 KB", `${AI}/usage`, { "x-api-key": `glt_${"a".repeat(LONG)}` }),
];

const ofCallers: Attack[] = [
	...bodies(9 * MB, "9 MB"),
	...heads,
	post("99,000 JSON keys", RUN, keys(14 * 99_000)),
	post("9 MB of lists", RUN, repeated("[],", 9 * MB)),
	post("9 MB of escapes in one text", RUN, Buffer.from(`{"prompt":"${"\\u0041".repeat(1_500_000)}"}`)),
	{ ...post("9 MB of text", RUN, json({ prompt: "a b ".repeat(2_250_000) })), noBar: true },
	post(
		"9 MB of text to count",
		`${MESSAGES}/count_tokens`,
		json({
			model: "@cf/moonshotai/kimi-k2.6",
			messages: [{ role: "user", content: "a b ".repeat(2_250_000) }],
		}),
	),
	post(
		"1 MB of one word to count",
		`${MESSAGES}/count_tokens`,
		json({ model: "@cf/moonshotai/kimi-k2.6", messages: [{ role: "user", content: "a".repeat(MB) }] }),
	),
	post("26 MB form of empty parts", `${AI}/v1/audio/transcriptions`, form, FORM),
	{ ...post("MP4 of empty boxes, 25 MB", WHISPER, mp4, BYTES), plain: plainMp4 },
	post("JPEG of empty segments, 24 MB", VISION, jpeg, BYTES),
	post(
		"JPEG of empty segments in JSON, 7 MB",
		VISION,
		json({
			prompt: "a",
			image: `data:image/jpeg;base64,${jpeg.subarray(0, 5 * MB).toString("base64")}`,
		}),
	),
];

export function hostileRequests(): Hostile[] {
	return [
		...ofStrangers.map((each) => ({ ...each, token: "none" }) as const),
		...ofStrangers.map((each) => ({ ...each, token: "invented" }) as const),
		...ofCallers.map((each) => ({ ...each, token: "valid" }) as const),
	];
}
