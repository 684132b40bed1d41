/** The input of OpenAI's and of Google's decisions as the state of the task, with its images. */
import { isRecord, parseJson } from "../../core/json.ts";
import { invalidInput } from "../invalid-input.ts";

interface State {
	state: unknown;
	/** Data URLs, and where each is in the request. */
	images: { url: string; at: string }[];
}

/** A text, or items of Responses: messages, calls and their results. Throws 8001 for unknown items and parts. */
export function stateOfItems(input: string | readonly Record<string, unknown>[]): State {
	if (typeof input === "string") return { state: input, images: [] };
	const images: State["images"] = [];
	const items = input.map((item, index) => itemState(item, `input[${index}]`, images));
	return { state: unwrapped(items), images };
}

/** A text, one content or a list of contents, as in Google's Interactions. Throws 8001 for other media than images. */
export function stateOfContents(input: unknown): State {
	if (typeof input === "string") return { state: input, images: [] };
	const images: State["images"] = [];
	const sent = Array.isArray(input) ? input : [input];
	const contents = sent.map((content: unknown, index): unknown => {
		const at = Array.isArray(input) ? `input[${index}]` : "input";
		if (!isRecord(content)) throw invalidInput(`${at}: expected a content`);
		if (content.type === "text" && typeof content.text === "string") return content.text;
		if (content.type !== "image") throw invalidInput(`${at}.type: only text and images are supported here`);
		if (typeof content.data !== "string")
			throw invalidInput(`${at}.uri: an image at an address is not read here: send its data`);
		return addImage(`data:${String(content.mime_type ?? "image/png")};base64,${content.data}`, at, images);
	});
	return { state: contents.length === 1 ? contents[0] : contents, images };
}

/** One message of the user with one content is that content. */
function unwrapped(items: readonly unknown[]): unknown {
	const [only, ...others] = items;
	if (others.length > 0 || !isRecord(only) || only.role !== "user") return items;
	const { content } = only;
	if (!Array.isArray(content)) return content;
	return content.length === 1 ? content[0] : content;
}

function itemState(item: Record<string, unknown>, at: string, images: State["images"]): unknown {
	const { type = "message", role, content, name, call_id, output } = item;
	switch (type) {
		case "message":
			if (typeof role !== "string")
				throw invalidInput(`${at}.role: expected user, assistant, developer or system`);
			return { role, content: contentState(content, `${at}.content`, images) };
		case "function_call":
			return { type, call_id, name, arguments: parsedOr(item.arguments) };
		case "custom_tool_call":
			return { type, call_id, name, input: item.input };
		case "function_call_output":
		case "custom_tool_call_output":
			return { type, call_id, output: contentState(output, `${at}.output`, images) };
		default:
			throw invalidInput(`${at}.type: ${JSON.stringify(String(type).slice(0, 64))} is not supported`);
	}
}

const parsedOr = (text: unknown): unknown => (typeof text === "string" ? (parseJson(text) ?? text) : text);

function contentState(content: unknown, at: string, images: State["images"]): unknown {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) throw invalidInput(`${at}: expected a text or a list of parts`);
	const parts = content.map((part: unknown, index): unknown => {
		const place = `${at}[${index}]`;
		const fields = isRecord(part) ? part : {};
		switch (fields.type) {
			case "input_text":
			case "output_text":
				return fields.text;
			case "refusal":
				return fields.refusal;
			case "input_json":
				return fields.data;
			case "input_image":
				return addImage(fields.image_url, place, images);
			default:
				throw invalidInput(
					`${place}.type: ${JSON.stringify(String(fields.type).slice(0, 64))} is not supported`,
				);
		}
	});
	return parts.every((part) => typeof part === "string") ? parts.join("\n") : parts;
}

/** Returns the image's place among the images, for the state. */
function addImage(url: unknown, at: string, images: State["images"]): unknown {
	if (typeof url !== "string" || !/^data:/i.test(url))
		throw invalidInput(`${at}.image_url: an image at an address is not read here: send a data URL`);
	images.push({ url, at });
	return { image: images.length };
}
