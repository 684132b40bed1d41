/** Requests of clients that are unusual, and that the vendor of the API accepts, or that clients are known to send. */
import { ANTHROPIC, EMBEDDINGS_MODEL, MODEL, OPENAI, TARGET_NAMES } from "./hosts.ts";

export interface OddRequest {
	name: string;
	path: string;
	body: object;
	/** The targets at which the vendor's own rules refuse it. */
	refusedBy?: readonly string[];
}

const PIXEL = "iVBORw0KGgo=";
const WAV = "UklGRiQAAABXQVZFZm10IA==";
const PDF = "JVBERi0xLjQK";
/** They have no input for audio. */
const DEAF = ["OpenAI's Responses", ...ANTHROPIC, "Ollama"];
/** Its routes are strict: they refuse what the product refuses. */
const STRICT = TARGET_NAMES.filter((name) => name.startsWith("Workers AI"));
const QUESTION = "Weather in Oslo?";
const USER = { role: "user", content: QUESTION };
const PARAMETERS = { type: "object", properties: { city: { type: "string" } } };
const TOOL = { type: "function", function: { name: "get_weather", parameters: PARAMETERS } };
const call = (id: string, name = "get_weather") => ({
	id,
	type: "function",
	function: { name, arguments: '{"city":"Oslo"}' },
});
const result = (id: string, content: unknown = "4 degrees") => ({ role: "tool", tool_call_id: id, content });
const assistant = (fields: object) => ({ role: "assistant", ...fields });

const chat = (name: string, body: object, ...refusedBy: string[]): OddRequest => ({
	name,
	path: "/v1/chat/completions",
	body: { model: MODEL, messages: [USER], ...body },
	refusedBy,
});
const turns = (...messages: object[]) => ({ messages: [USER, ...messages], tools: [TOOL] });

export const CHAT_REQUESTS: readonly OddRequest[] = [
	chat(
		"content of null beside calls",
		turns(assistant({ content: null, tool_calls: [call("a")] }), result("a")),
	),
	chat("no content beside calls", turns(assistant({ tool_calls: [call("a")] }), result("a"))),
	chat(
		"an empty content beside calls",
		turns(assistant({ content: "", tool_calls: [call("a")] }), result("a")),
	),
	chat("empty parts beside calls", turns(assistant({ content: [], tool_calls: [call("a")] }), result("a"))),
	chat("an empty answer", turns(assistant({ content: "" }), { role: "user", content: "And now?" })),
	chat("an answer of null", turns(assistant({ content: null }), { role: "user", content: "And now?" })),
	chat(
		"a refusal",
		turns(assistant({ content: null, refusal: "No." }), { role: "user", content: "And now?" }),
	),
	chat("an empty list of calls", turns(assistant({ content: "4", tool_calls: [] }), USER)),
	chat(
		"system in the middle",
		turns(assistant({ content: "4" }), { role: "system", content: "Be brief." }, USER),
	),
	chat("system at the end", { messages: [USER, { role: "system", content: "Be brief." }] }),
	chat("several system messages", {
		messages: [{ role: "system", content: "A" }, { role: "system", content: "B" }, USER],
	}),
	chat("developer and system", {
		messages: [{ role: "developer", content: "A" }, { role: "system", content: "B" }, USER],
	}),
	chat("an empty system message", { messages: [{ role: "system", content: "" }, USER] }),
	chat("system alone", { messages: [{ role: "system", content: QUESTION }] }),
	chat("an answer first", { messages: [assistant({ content: "Hello" }), USER] }),
	chat("an answer last", turns(assistant({ content: "It is" }))),
	chat("two of the user", { messages: [USER, USER] }),
	chat("two answers", { messages: [USER, assistant({ content: "A" }), assistant({ content: "B" }), USER] }),
	chat("an empty message", { messages: [USER, assistant({ content: "4" }), { role: "user", content: "" }] }),
	chat("white space", { messages: [USER, assistant({ content: " " }), { role: "user", content: " \n" }] }),
	chat("a result without its call", { messages: [USER, result("a"), USER] }),
	chat("a result before its call", turns(result("a"), assistant({ tool_calls: [call("a")] })), ...OPENAI),
	chat("a call without its result", turns(assistant({ tool_calls: [call("a")] }), USER)),
	chat("a message between call and result", turns(assistant({ tool_calls: [call("a")] }), USER, result("a"))),
	chat(
		"results in another order",
		turns(assistant({ tool_calls: [call("a"), call("b")] }), result("b"), result("a")),
	),
	chat(
		"the same id twice",
		turns(assistant({ tool_calls: [call("a"), call("a")] }), result("a"), result("a")),
	),
	chat(
		"the same id in two turns",
		turns(
			assistant({ tool_calls: [call("a")] }),
			result("a"),
			assistant({ tool_calls: [call("a")] }),
			result("a"),
		),
	),
	chat("two results of one call", turns(assistant({ tool_calls: [call("a")] }), result("a"), result("a"))),
	chat(
		"a result of parts",
		turns(assistant({ tool_calls: [call("a")] }), result("a", [{ type: "text", text: "4" }])),
	),
	chat("an empty result", turns(assistant({ tool_calls: [call("a")] }), result("a", ""))),
	chat("a result of null", turns(assistant({ tool_calls: [call("a")] }), result("a", null))),
	chat("a result of no parts", turns(assistant({ tool_calls: [call("a")] }), result("a", []))),
	chat(
		"a result with an image",
		turns(
			assistant({ tool_calls: [call("a")] }),
			result("a", [{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } }]),
		),
	),
	chat(
		"arguments that are empty",
		turns(
			assistant({ tool_calls: [{ ...call("a"), function: { name: "get_weather", arguments: "" } }] }),
			result("a"),
		),
	),
	chat(
		"arguments that are no JSON",
		turns(
			assistant({ tool_calls: [{ ...call("a"), function: { name: "get_weather", arguments: '{"ci' } }] }),
			result("a"),
		),
	),
	chat("a call of a tool that is not offered", {
		messages: [USER, assistant({ tool_calls: [call("a", "get_time")] }), result("a")],
		tools: [TOOL],
	}),
	chat("calls without tools", { messages: [USER, assistant({ tool_calls: [call("a")] }), result("a")] }),
	chat("the older form of a call", {
		messages: [
			USER,
			assistant({ content: null, function_call: call("a").function }),
			{ role: "function", name: "get_weather", content: "4" },
		],
	}),
	chat("functions", { functions: [TOOL.function], function_call: "auto" }),
	chat("no tools", { tools: [] }),
	chat("no tools with a choice", { tools: [], tool_choice: "auto" }),
	chat("a choice of none without tools", { tool_choice: "none" }),
	chat("a tool without parameters", { tools: [{ type: "function", function: { name: "get_time" } }] }),
	chat("a tool with empty parameters", {
		tools: [{ type: "function", function: { name: "get_time", parameters: {} } }],
	}),
	chat("a tool with a description of null", {
		tools: [{ type: "function", function: { ...TOOL.function, description: null, strict: null } }],
	}),
	chat("the same tool twice", { tools: [TOOL, TOOL] }),
	chat("an empty stop", { stop: "" }),
	chat("no stops", { stop: [] }),
	chat("both limits", { max_tokens: 100, max_completion_tokens: 100 }),
	chat(
		"nulls",
		Object.fromEntries(
			[
				"temperature",
				"top_p",
				"max_tokens",
				"max_completion_tokens",
				"n",
				"stop",
				"stream",
				"stream_options",
				"seed",
				"user",
				"logit_bias",
				"logprobs",
				"top_logprobs",
				"tools",
				"tool_choice",
				"response_format",
				"metadata",
				"store",
				"reasoning_effort",
				"frequency_penalty",
				"presence_penalty",
				"parallel_tool_calls",
				"service_tier",
				"modalities",
				"audio",
				"prediction",
				"functions",
				"function_call",
			].map((field) => [field, null]),
		),
		...STRICT,
	),
	chat("nulls in a message", {
		messages: [
			{
				...USER,
				name: null,
				tool_calls: null,
				tool_call_id: null,
				refusal: null,
				audio: null,
				function_call: null,
			},
		],
	}),
	chat("defaults of OpenAI", {
		n: 1,
		temperature: 1,
		top_p: 1,
		frequency_penalty: 0,
		presence_penalty: 0,
		logit_bias: {},
		response_format: { type: "text" },
		user: "u",
		metadata: {},
		logprobs: false,
		store: false,
	}),
	chat("options of streams without a stream", { stream: false, stream_options: { include_usage: true } }),
	chat("an image as a text", {
		messages: [
			{
				role: "user",
				content: [
					{ type: "text", text: QUESTION },
					{ type: "image_url", image_url: `data:image/png;base64,${PIXEL}` },
				],
			},
		],
	}),
	...(
		[
			// OpenAI refuses the first eight, too.
			["an image as base64 without its type", { type: "image_url", image_url: { url: PIXEL } }, TARGET_NAMES],
			["an image as a text of base64", { type: "image_url", image_url: PIXEL }, TARGET_NAMES],
			[
				"an image of Responses",
				{ type: "input_image", image_url: `data:image/png;base64,${PIXEL}` },
				TARGET_NAMES,
			],
			["an image of Ollama", { type: "image", image: PIXEL }, TARGET_NAMES],
			[
				"an image of Anthropic",
				{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
				TARGET_NAMES,
			],
			["a text of Responses", { type: "input_text", text: QUESTION }, TARGET_NAMES],
			["a part without a type", { text: QUESTION }, TARGET_NAMES],
			["audio", { type: "input_audio", input_audio: { data: WAV, format: "wav" } }, DEAF],
			[
				"audio as a data URL",
				{ type: "input_audio", input_audio: { data: `data:audio/wav;base64,${WAV}`, format: "wav" } },
				DEAF,
			],
			[
				"a file",
				{ type: "file", file: { file_data: `data:application/pdf;base64,${PDF}`, filename: "a.pdf" } },
				["Ollama"],
			],
			[
				"a file without a name",
				{ type: "file", file: { file_data: `data:application/pdf;base64,${PDF}` } },
				["Ollama"],
			],
			[
				"a file as base64 without its type",
				{ type: "file", file: { file_data: PDF, filename: "a.pdf" } },
				["Ollama"],
			],
		] as const
	).map(([name, part, refusedBy]) =>
		chat(
			name,
			{ messages: [{ role: "user", content: [{ type: "text", text: QUESTION }, part] }] },
			...refusedBy,
		),
	),
	chat("a detail of null", {
		messages: [
			{
				role: "user",
				content: [
					{ type: "text", text: QUESTION },
					{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}`, detail: null } },
				],
			},
		],
	}),
	chat(
		"one part, not in a list",
		{
			messages: [{ role: "user", content: { type: "text", text: QUESTION } }],
		},
		...TARGET_NAMES,
	),
	chat("parts as texts", { messages: [{ role: "user", content: [QUESTION] }] }, ...TARGET_NAMES),
	chat("an empty text among parts", {
		messages: [
			{
				role: "user",
				content: [
					{ type: "text", text: "" },
					{ type: "text", text: QUESTION },
				],
			},
		],
	}),
	chat("parts of an answer", {
		messages: [USER, assistant({ content: [{ type: "text", text: "4" }] }), USER],
	}),
	chat("a name", { messages: [{ ...USER, name: "x".repeat(64) }] }),
	chat("fields of an earlier answer", {
		messages: [
			USER,
			assistant({
				content: "4",
				annotations: [],
				audio: null,
				refusal: null,
				reasoning: null,
				reasoning_content: "Hm.",
				reasoning_details: [],
				provider_specific_fields: {},
			}),
			USER,
		],
	}),
	chat("unknown fields", { x_unknown: 1, thinking: { type: "disabled" } }),
	chat("unicode", { messages: [{ role: "user", content: `${QUESTION} \u{1F600}\u0000\uD83D` }] }),
];

const run = (name: string, body: object, ...refusedBy: string[]): OddRequest => ({
	...{ name, body, refusedBy },
	path: `/run/${MODEL}`,
});

export const RUN_REQUESTS: readonly OddRequest[] = [
	run("messages", { messages: [USER] }),
	run("a stream of false", { messages: [USER], stream: false }),
	run("the name of the model", { model: MODEL, messages: [USER] }),
	run(
		"one part, not in a list",
		{ messages: [{ role: "user", content: { type: "text", text: QUESTION } }] },
		...TARGET_NAMES,
	),
	run("parts", { messages: [{ role: "user", content: [{ type: "text", text: QUESTION }] }] }),
	run("a tool in the flat form", {
		messages: [USER],
		tools: [{ name: "get_weather", description: "Weather", parameters: PARAMETERS }],
	}),
	run("a filler for the id of a call", {
		messages: [
			USER,
			assistant({ content: "", tool_calls: [call("000000001")] }),
			{ role: "tool", name: "get_weather", content: "4", tool_call_id: "000000001" },
		],
	}),
	run("a result without an id", {
		messages: [USER, { role: "tool", name: "get_weather", content: "4" }],
	}),
	run("an image as a data URL", {
		messages: [
			{
				role: "user",
				content: [
					{ type: "text", text: QUESTION },
					{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
				],
			},
		],
	}),
	run("unknown fields", { messages: [USER], x_unknown: 1, rejectIfBusy: false, tags: ["a"] }),
	run("nulls", { messages: [USER], temperature: null, tools: null, response_format: null, stop: null }),
	run("numbers at their ends", { messages: [USER], max_tokens: 1, temperature: 0, top_p: 1, seed: 1 }),
];

const messages = (name: string, body: object, ...refusedBy: string[]): OddRequest => ({
	name,
	path: "/v1/messages",
	body: { model: MODEL, max_tokens: 2048, messages: [USER], ...body },
	refusedBy,
});
const CLAUDE_TOOL = { name: "get_weather", input_schema: PARAMETERS };
const use = (id: string) =>
	assistant({ content: [{ type: "tool_use", id, name: "get_weather", input: { city: "Oslo" } }] });
const used = (id: string, content?: unknown, fields: object = {}) => ({
	role: "user",
	content: [{ type: "tool_result", tool_use_id: id, ...(content !== undefined && { content }), ...fields }],
});
const claude = (...list: object[]) => ({ messages: [USER, ...list], tools: [CLAUDE_TOOL] });

export const MESSAGES_REQUESTS: readonly OddRequest[] = [
	messages("a result without content", claude(use("toolu_1"), used("toolu_1"))),
	messages("an empty result", claude(use("toolu_1"), used("toolu_1", ""))),
	messages("a result of no blocks", claude(use("toolu_1"), used("toolu_1", []))),
	messages("a failed result", claude(use("toolu_1"), used("toolu_1", "No.", { is_error: true }))),
	messages(
		"a result with an image",
		claude(
			use("toolu_1"),
			used("toolu_1", [{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }]),
		),
	),
	messages("a result without its call", claude(used("toolu_1", "4"))),
	messages("a call without its result", claude(use("toolu_1"), USER)),
	messages(
		"a text before the result",
		claude(use("toolu_1"), {
			role: "user",
			content: [
				{ type: "text", text: "Here:" },
				{ type: "tool_result", tool_use_id: "toolu_1", content: "4" },
			],
		}),
	),
	messages("calls without tools", { messages: [USER, use("toolu_1"), used("toolu_1", "4")] }),
	messages("no tools", { tools: [] }),
	messages("a choice without tools", { tool_choice: { type: "auto" } }),
	messages("no system", { system: [] }),
	messages("an empty system", { system: "" }),
	messages("an empty system block", { system: [{ type: "text", text: "" }] }, ...ANTHROPIC),
	messages("two of the user", { messages: [USER, USER] }),
	messages("an answer first", { messages: [assistant({ content: "Hello" }), USER] }, ...ANTHROPIC),
	messages("an answer last", { messages: [USER, assistant({ content: "It is" })] }),
	messages("an empty answer", { messages: [USER, assistant({ content: [] }), USER] }),
	messages("an empty text", {
		messages: [
			{
				role: "user",
				content: [
					{ type: "text", text: "" },
					{ type: "text", text: QUESTION },
				],
			},
		],
	}),
	messages("nulls", {
		system: null,
		temperature: null,
		top_p: null,
		top_k: null,
		stop_sequences: null,
		tools: null,
		tool_choice: null,
		thinking: null,
		metadata: null,
		stream: null,
		service_tier: null,
	}),
	messages("no stops", { stop_sequences: [] }),
	messages("top_k of 0", { top_k: 0 }, "Anthropic, an effort"),
	messages("a user of null", { metadata: { user_id: null } }),
	messages("thinking that is disabled", { thinking: { type: "disabled" } }),
	messages("temperature and top_p", { temperature: 1, top_p: 1 }, ...ANTHROPIC),
	messages("a tool of the type custom, without description", {
		tools: [{ ...CLAUDE_TOOL, type: "custom", description: "" }],
	}),
	messages(
		"a tool with a schema without a type",
		{ tools: [{ name: "get_time", input_schema: {} }] },
		...ANTHROPIC,
	),
];

const responses = (name: string, body: object, ...refusedBy: string[]): OddRequest => ({
	name,
	path: "/v1/responses",
	body: { model: MODEL, input: QUESTION, store: false, ...body },
	refusedBy,
});
const called = (call_id: string) => ({
	type: "function_call",
	call_id,
	name: "get_weather",
	arguments: '{"city":"Oslo"}',
});
const output = (call_id: string, sent: unknown) => ({ type: "function_call_output", call_id, output: sent });
const FLAT_TOOL = { type: "function", name: "get_weather", parameters: PARAMETERS };
const items = (...list: object[]) => ({ input: [USER, ...list], tools: [FLAT_TOOL] });

export const RESPONSES_REQUESTS: readonly OddRequest[] = [
	responses("messages without types", { input: [USER, assistant({ content: "4" }), USER] }),
	responses("system in the middle", { input: [USER, { role: "system", content: "Be brief." }, USER] }),
	responses("developer", {
		input: [{ role: "developer", content: [{ type: "input_text", text: "A" }] }, USER],
	}),
	responses("instructions and system", {
		instructions: "A",
		input: [{ role: "system", content: "B" }, USER],
	}),
	responses("empty instructions", { instructions: "" }),
	responses("no tools", { tools: [] }),
	responses("a tool without description and strict", { tools: [FLAT_TOOL] }),
	responses("a tool with parameters of null", {
		tools: [{ type: "function", name: "get_time", parameters: null, strict: null }],
	}),
	responses("an output of parts", items(called("a"), output("a", [{ type: "input_text", text: "4" }]))),
	responses(
		"an output with an image",
		items(called("a"), output("a", [{ type: "input_image", image_url: `data:image/png;base64,${PIXEL}` }])),
	),
	responses("an empty output", items(called("a"), output("a", ""))),
	responses("an output without its call", items(output("a", "4")), ...TARGET_NAMES),
	responses("a call without its output", items(called("a"), USER), "OpenAI's Responses"),
	responses("outputs in another order", items(called("a"), called("b"), output("b", "5"), output("a", "4"))),
	responses("calls without tools", { input: [USER, called("a"), output("a", "4")] }),
	responses(
		"a call with its id and status",
		items(
			{ ...called("a"), id: "fc_1", status: "completed" },
			{ ...output("a", "4"), id: null, status: null },
		),
	),
	responses(
		"empty reasoning",
		items({ type: "reasoning", id: "rs_1", summary: [] }, called("a"), output("a", "4")),
	),
	responses("an empty answer", { input: [USER, assistant({ content: [] }), USER] }),
	responses("an answer last", { input: [USER, assistant({ content: "It is" })] }),
	responses(
		"nulls",
		Object.fromEntries(
			[
				"instructions",
				"temperature",
				"top_p",
				"max_output_tokens",
				"tools",
				"tool_choice",
				"text",
				"reasoning",
				"metadata",
				"include",
				"previous_response_id",
				"truncation",
				"user",
				"service_tier",
				"stream",
				"parallel_tool_calls",
				"background",
				"conversation",
				"prompt",
				"max_tool_calls",
				"top_logprobs",
				"stream_options",
				"safety_identifier",
				"prompt_cache_key",
			].map((field) => [field, null]),
		),
	),
	responses("empty objects", { reasoning: {}, text: {}, metadata: {}, include: [] }),
	responses("a text format", { text: { format: { type: "text" } } }),
	responses("an image without detail", {
		input: [
			{
				role: "user",
				content: [
					{ type: "input_text", text: QUESTION },
					{ type: "input_image", image_url: `data:image/png;base64,${PIXEL}` },
				],
			},
		],
	}),
];

const gemini = (name: string, body: object, ...refusedBy: string[]): OddRequest => ({
	name,
	path: `/v1beta/models/${MODEL}:generateContent`,
	body: { contents: [{ role: "user", parts: [{ text: QUESTION }] }], ...body },
	refusedBy,
});
const declared = { functionDeclarations: [{ name: "get_weather", parameters: PARAMETERS }] };
const model = (...parts: object[]) => ({ role: "model", parts });
const asked = { role: "user", parts: [{ text: QUESTION }] };
const CALLED = { functionCall: { name: "get_weather", args: { city: "Oslo" } }, thoughtSignature: "c2ln" };
const answered = (response: unknown, role = "user") => ({
	role,
	parts: [{ functionResponse: { name: "get_weather", response } }],
});

export const GEMINI_REQUESTS: readonly OddRequest[] = [
	gemini("contents without a role", { contents: [{ parts: [{ text: QUESTION }] }] }),
	gemini("fields in the case of Python", {
		system_instruction: { parts: [{ text: "A" }] },
		generation_config: { max_output_tokens: 100, stop_sequences: [] },
	}),
	gemini("a system instruction with a role", {
		systemInstruction: { role: "system", parts: [{ text: "A" }] },
	}),
	gemini("an empty system instruction", { systemInstruction: { parts: [{ text: "" }] } }),
	gemini("an empty text", { contents: [{ role: "user", parts: [{ text: "" }, { text: QUESTION }] }] }),
	gemini("no tools", { tools: [] }),
	gemini("tools without functions", { tools: [{ functionDeclarations: [] }] }),
	gemini("a choice without tools", { toolConfig: { functionCallingConfig: { mode: "AUTO" } } }),
	gemini("a function without parameters", {
		tools: [{ functionDeclarations: [{ name: "get_time", description: "" }] }],
	}),
	gemini("a result in the role function", {
		contents: [asked, model(CALLED), answered({ result: "4" }, "function")],
		tools: [declared],
	}),
	gemini("an empty result", { contents: [asked, model(CALLED), answered({})], tools: [declared] }),
	gemini("a call without args", {
		contents: [asked, model({ functionCall: { name: "get_weather" } }), answered({ result: 4 })],
		tools: [declared],
	}),
	gemini("calls without tools", { contents: [asked, model(CALLED), answered({ result: "4" })] }),
	gemini(
		"a result without its call",
		{ contents: [asked, answered({ result: "4" })], tools: [declared] },
		...TARGET_NAMES,
	),
	gemini("a call without its result", { contents: [asked, model(CALLED), asked], tools: [declared] }),
	gemini("an empty answer", { contents: [asked, model({ text: "" }), asked] }),
	gemini("an answer without parts", { contents: [asked, { role: "model" }, asked] }),
	gemini("an answer last", { contents: [asked, model({ text: "It is" })] }),
	gemini("empty settings", { generationConfig: {}, safetySettings: [] }),
	gemini("one candidate", {
		generationConfig: { candidateCount: 1, responseMimeType: "text/plain", stopSequences: [] },
	}),
	// As `@google/genai` 3.3.0 writes them.
	gemini("all settings of Google's SDK", {
		model: "models/gemini-3.8-flash",
		safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE", method: "SEVERITY" }],
		labels: { team: "a" },
		serviceTier: "standard",
		store: false,
		modelArmorConfig: { promptTemplateName: "a" },
		toolConfig: {
			functionCallingConfig: { mode: "AUTO", allowedFunctionNames: [], streamFunctionCallArguments: false },
			retrievalConfig: { languageCode: "en" },
			includeServerSideToolInvocations: false,
		},
		generationConfig: {
			...{ temperature: 1, topP: 0.9, topK: 40, seed: 1, presencePenalty: 0, frequencyPenalty: 0 },
			...{ responseModalities: ["TEXT"], mediaResolution: "MEDIA_RESOLUTION_LOW", responseLogprobs: false },
			...{ audioTimestamp: false, enableAffectiveDialog: false, enableEnhancedCivicAnswers: false },
			speechConfig: { languageCode: "en-US" },
			imageConfig: { aspectRatio: "1:1" },
			routingConfig: { autoMode: {} },
			thinkingConfig: { includeThoughts: true, thinkingBudget: -1 },
		},
	}),
	gemini("all settings in the case of Python", {
		safety_settings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
		tool_config: { function_calling_config: { mode: "AUTO", allowed_function_names: [] } },
		tools: [{ function_declarations: [{ name: "get_time", parameters_json_schema: PARAMETERS }] }],
		generation_config: {
			...{ top_p: 0.9, top_k: 40, candidate_count: 1, response_mime_type: "text/plain" },
			...{ presence_penalty: 0, frequency_penalty: 0, response_modalities: ["TEXT"] },
			thinking_config: { include_thoughts: false, thinking_budget: 1024 },
		},
	}),
	gemini("all fields of parts of Google's SDK", {
		contents: [
			{
				role: "user",
				parts: [
					{ text: QUESTION, partMetadata: { a: 1 } },
					{
						inlineData: { mimeType: "image/png", data: PIXEL, displayName: "a.png" },
						mediaResolution: { level: "MEDIA_RESOLUTION_LOW" },
					},
				],
			},
			model({ text: "Hm.", thought: true, thoughtSignature: "c2ln" }, { ...CALLED, thought: false }),
			{
				role: "user",
				parts: [
					{
						functionResponse: {
							name: "get_weather",
							response: { output: "4" },
							...{ willContinue: false, scheduling: "SILENT" },
							parts: [{ inlineData: { mimeType: "image/png", data: PIXEL, displayName: "a.png" } }],
						},
					},
				],
			},
		],
		tools: [
			{
				functionDeclarations: [
					{ name: "get_weather", parameters: PARAMETERS, behavior: "BLOCKING", responseJsonSchema: {} },
				],
			},
		],
	}),
	gemini("an image in the case of Python", {
		contents: [
			{ role: "user", parts: [{ text: QUESTION }, { inline_data: { mime_type: "image/png", data: PIXEL } }] },
		],
	}),
];

const plain = (path: string, sent: string) => {
	const model = path === "/v1/embeddings" ? EMBEDDINGS_MODEL : MODEL;
	return (name: string, body: object, ...refusedBy: string[]): OddRequest => ({
		...{ name, path, refusedBy },
		body: { model, [sent]: QUESTION, ...body },
	});
};
const completions = plain("/v1/completions", "prompt");
const embeddings = plain("/v1/embeddings", "input");
const ENGINE = "an engine";

/** For engines, which have no other form of a prompt. */
export const COMPLETIONS_REQUESTS: readonly OddRequest[] = [
	completions("a list of one prompt", { prompt: [QUESTION] }),
	completions("several prompts", { prompt: [QUESTION, QUESTION] }, ENGINE),
	completions("tokens", { prompt: [1, 2] }, ENGINE),
	completions("no prompts", { prompt: [] }, ENGINE),
	completions("an empty suffix", { suffix: "" }),
	completions("an empty stop", { stop: "" }),
	completions("no stops", { stop: [] }),
	completions("defaults of OpenAI", {
		...{ best_of: 1, echo: false, n: 1, temperature: 1, top_p: 1, stream: false, logit_bias: {} },
		...{ frequency_penalty: 0, presence_penalty: 0, max_tokens: 16, logprobs: null, user: "u" },
	}),
	completions(
		"nulls",
		Object.fromEntries(
			"best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream stream_options suffix temperature top_p user"
				.split(" ")
				.map((field) => [field, null]),
		),
	),
	completions("unknown fields", { x_unknown: 1 }),
	completions("a prompt as an object", { prompt: { text: QUESTION } }, ENGINE),
];

export const EMBEDDINGS_REQUESTS: readonly OddRequest[] = [
	embeddings("a list of one text", { input: [QUESTION] }),
	embeddings("several texts", { input: [QUESTION, QUESTION] }),
	embeddings("an empty text", { input: "" }),
	embeddings("an empty text among texts", { input: [QUESTION, ""] }),
	embeddings("tokens", { input: [1, 2] }),
	embeddings("lists of tokens", { input: [[1, 2], [3]] }),
	embeddings("no texts", { input: [] }, ENGINE),
	embeddings("texts and tokens", { input: [QUESTION, 1] }, ENGINE),
	embeddings("null among texts", { input: [QUESTION, null] }, ENGINE),
	embeddings("a text as an object", { input: { text: QUESTION } }, ENGINE),
	embeddings("nulls", { encoding_format: null, dimensions: null, user: null }),
	embeddings("base64", { encoding_format: "base64" }),
	embeddings("an unknown format", { encoding_format: "int4" }, ENGINE),
	embeddings("a width of 0", { dimensions: 0 }, ENGINE),
	embeddings("unknown fields", { input_type: "query", truncate: "END" }),
];
