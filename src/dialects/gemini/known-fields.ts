/**
 * Fields of `GenerateContentRequest` of the Gemini API and of Vertex AI, as `@google/genai` 3.3.0 sends them. Google refuses any other name.
 *
 * Not checked: tools that Google runs, of which every release has new ones; schemas, and the values that have the caller's own names.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import { camel } from "./keys.ts";
import { isSent } from "./surface-fields.ts";

/** The fields of a message, and their messages. `null`: its content is not checked. */
interface Message {
	readonly [field: string]: Message | null;
}

const fields = (names: string): Message =>
	Object.fromEntries(
		names
			.trim()
			.split(/\s+/)
			.map((name) => [name, null]),
	);

const BLOB = fields("data displayName mimeType");
const FILE = fields("displayName fileUri mimeType");
const PART: Message = {
	...fields(`audioTranscription codeExecutionResult executableCode mediaProcessing mediaResolution partMetadata
		speechMetadata text thought thoughtSignature toolCall toolResponse videoMetadata`),
	inlineData: BLOB,
	fileData: FILE,
	functionCall: fields("args id name partialArgs willContinue"),
	functionResponse: {
		...fields("id name response scheduling willContinue"),
		parts: { ...fields("mediaProcessing"), inlineData: BLOB, fileData: FILE },
	},
};
const CONTENT: Message = { role: null, parts: PART };
const REQUEST: Message = {
	...fields(
		`cachedContent continuationToken labels model modelArmorConfig outputConfig serviceTier store tools`,
	),
	contents: CONTENT,
	systemInstruction: CONTENT,
	safetySettings: fields("category method threshold"),
	toolConfig: {
		...fields("includeServerSideToolInvocations retrievalConfig"),
		functionCallingConfig: fields("allowedFunctionNames mode streamFunctionCallArguments"),
	},
	generationConfig: {
		...fields(`audioTimestamp audioTranscriptionConfig candidateCount enableAffectiveDialog enableEnhancedCivicAnswers
			frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution modelConfig modelSelectionConfig
			presencePenalty responseFormat responseJsonSchema responseLogprobs responseMimeType responseModalities
			responseSchema routingConfig seed speechConfig stopSequences temperature topK topP translationConfig`),
		thinkingConfig: fields("includeThoughts thinkingBudget thinkingLevel"),
	},
};
const DECLARATION = fields(
	"behavior description name parameters parametersJsonSchema response responseJsonSchema",
);

/** Google lists all of them. A body may have thousands. */
const MAX_NAMED = 10;
const MAX_NAME_CHARACTERS = 64;

/** `sent`: the body, in either case of names. Throws Google's sentences for names that it does not know. */
export function refuseUnknownFields(sent: unknown): void {
	if (!isRecord(sent)) return;
	const unknown: string[] = [];
	const body = Object.entries(sent).filter(([name]) => isSent(name, sent));
	collect(Object.fromEntries(body), REQUEST, "", unknown);
	const tools = Array.isArray(sent.tools) ? sent.tools : [];
	for (const [index, tool] of tools.entries())
		for (const [name, value] of isRecord(tool) ? Object.entries(tool) : [])
			if (camel(name) === "functionDeclarations")
				collect(value, DECLARATION, `tools[${index}].function_declarations`, unknown);
	if (unknown.length > 0)
		throw new AiError(
			"invalidInput",
			`Invalid JSON payload received. ${unknown.slice(0, MAX_NAMED).join("\n")}`,
		);
}

function collect(value: unknown, message: Message, at: string, unknown: string[]): void {
	if (Array.isArray(value)) {
		for (const [index, item] of value.entries()) collect(item, message, `${at}[${index}]`, unknown);
		return;
	}
	if (!isRecord(value) || unknown.length >= MAX_NAMED) return;
	for (const [sent, inner] of Object.entries(value)) {
		const name = camel(sent);
		const fieldMessage = own(message, name);
		if (fieldMessage === undefined) {
			const place = at === "" ? "" : ` at '${at}'`;
			unknown.push(
				`Unknown name ${JSON.stringify(sent.slice(0, MAX_NAME_CHARACTERS))}${place}: Cannot find field.`,
			);
		} else if (fieldMessage)
			collect(inner, fieldMessage, at === "" ? snake(name) : `${at}.${snake(name)}`, unknown);
	}
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
