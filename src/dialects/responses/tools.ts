/**
 * Tools of a Responses request as functions, the one kind of tool that chat engines have.
 *
 * - The tools of a namespace become functions of their own, called `{namespace}__{name}`.
 * - A custom tool becomes a function with one string parameter, `input`.
 * - Tools that OpenAI hosts, or that only OpenAI's models know, are left out, unless the request forces them.
 *
 * Calls are mapped back with the request's own list of names (`tool-names.ts`).
 */
import * as z from "zod";
import type { ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../chat/errors.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { parseAt } from "./parse.ts";
import { flatName, type ToolName } from "./tool-names.ts";

const Tool = z.looseObject({ type: z.string() });
type Tool = z.output<typeof Tool>;
/** As the body's schema leaves them. */
export const Tools = z.array(Tool);
export const Choice = z.union([z.enum(["none", "auto", "required"]), Tool]);

const Name = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const Functional = z.discriminatedUnion("type", [
	z.looseObject({ type: z.literal("function"), name: Name }),
	z.object({
		type: z.literal("custom"),
		name: Name,
		description: z.string().nullish(),
		format: z
			.discriminatedUnion("type", [
				z.object({ type: z.literal("text") }),
				z.object({
					type: z.literal("grammar"),
					syntax: z.enum(["lark", "regex"]),
					definition: z.string(),
				}),
			])
			.nullish(),
	}),
	z.object({ type: z.literal("namespace"), name: Name, tools: Tools }),
]);
type CustomTool = Extract<z.output<typeof Functional>, { type: "custom" }>;

const Named = z.discriminatedUnion("type", [
	z.object({ type: z.literal("function"), name: z.string(), namespace: z.string().nullish() }),
	z.object({ type: z.literal("custom"), name: z.string(), namespace: z.string().nullish() }),
]);
const NamedChoice = z.discriminatedUnion("type", [
	...Named.options,
	z.object({ type: z.literal("allowed_tools"), mode: z.enum(["auto", "required"]), tools: Tools.min(1) }),
]);

type Sent<Schema extends z.ZodType> = z.output<Schema> | null | undefined;

interface Offer {
	tools: (ToolName & { at: string; tool: ChatTool })[];
	/** Types of tools that are left out, each with the first place where it stands. */
	hosted: Map<string, string>;
}

/** Throws 8001. */
export function readToolFields(
	tools: Sent<typeof Tools>,
	choice: Sent<typeof Choice>,
): Pick<ChatInput, "tools" | "tool_choice" | "dropped"> {
	const offer = readOffer(tools ?? [], "tools");
	checkNames(offer.tools);
	const [forced] = offer.hosted;
	if (choice === "required" && offer.tools.length === 0 && forced) throw unsupported(forced[1], forced[0]);
	const dropped = [...offer.hosted.keys()].map((type) => `tools.${type}`);
	return {
		...chooseTools(
			offer.tools.map(({ tool }) => tool),
			typeof choice === "object" && choice ? chatChoice(choice) : choice,
		),
		...(dropped.length > 0 && { dropped }),
	};
}

function readOffer(tools: readonly Tool[], at: string, namespace?: string): Offer {
	const offer: Offer = { tools: [], hosted: new Map() };
	for (const [place, sent] of tools.entries()) {
		const here = `${at}[${place}]`;
		if (isHosted(sent)) {
			if (!offer.hosted.has(sent.type)) offer.hosted.set(sent.type, here);
			continue;
		}
		const tool = parseAt(Functional, sent, here);
		if (tool.type === "namespace") {
			const inner = readOffer(tool.tools, `${here}.tools`, tool.name);
			offer.tools.push(...inner.tools);
			for (const [type, where] of inner.hosted) if (!offer.hosted.has(type)) offer.hosted.set(type, where);
			continue;
		}
		const name = { kind: tool.type, name: tool.name, ...(namespace !== undefined && { namespace }) };
		const declared = tool.type === "custom" ? customFunction(tool) : tool;
		const [read] = readTools([declared], () => here);
		if (read)
			offer.tools.push({
				...name,
				at: here,
				tool: { ...read, function: { ...read.function, name: flatName(name) } },
			});
	}
	return offer;
}

const FUNCTIONAL: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);
/** Types that the header `x-ganglion-dropped` can name. */
const NAMEABLE = /^[\w.-]{1,64}$/;

/** A tool with parameters is a function whose type is misspelt: leaving it out would hide the mistake. */
const isHosted = (tool: Tool): boolean =>
	!FUNCTIONAL.has(tool.type) && NAMEABLE.test(tool.type) && !("parameters" in tool) && !("function" in tool);

const unsupported = (at: string, type: string) =>
	invalidInput(`${at}.type: ${JSON.stringify(type)} is not supported`);

function checkNames(tools: Offer["tools"]): void {
	const byFlatName = new Map<string, Offer["tools"][number]>();
	for (const tool of tools) {
		const flat = tool.tool.function.name;
		const known = byFlatName.get(flat);
		if (known && (known.kind !== tool.kind || known.namespace !== tool.namespace || known.name !== tool.name))
			throw invalidInput(`${tool.at}.name: ${known.at} has the same name for the engine, ${flat}`);
		byFlatName.set(flat, tool);
	}
}

/** The grammar is for the model to read: no engine is asked to enforce it. */
function customFunction({ name, description, format }: CustomTool): object {
	const rule =
		format?.type === "grammar" &&
		`It must match this ${format.syntax === "lark" ? "Lark grammar" : "regular expression"}:\n${format.definition}`;
	const input = {
		type: "string",
		description: ["The whole input of the tool.", rule].filter(Boolean).join(" "),
	};
	return {
		type: "function",
		name,
		description,
		parameters: { type: "object", properties: { input }, required: ["input"], additionalProperties: false },
	};
}

/** The choice under chat's names. */
function chatChoice(choice: Tool): unknown {
	const parsed = parseAt(NamedChoice, choice, "tool_choice");
	if (parsed.type !== "allowed_tools") return namedFunction(parsed);
	const allowed = parsed.tools.flatMap((tool, place) =>
		isHosted(tool) ? [] : [namedFunction(parseAt(Named, tool, `tool_choice.tools[${place}]`))],
	);
	if (allowed.length > 0)
		return { type: "allowed_tools", allowed_tools: { mode: parsed.mode, tools: allowed } };
	if (parsed.mode === "auto") return "none";
	throw unsupported("tool_choice.tools[0]", parsed.tools[0]?.type ?? "");
}

const namedFunction = ({ name, namespace }: z.output<typeof Named>): object => ({
	type: "function",
	function: { name: flatName({ name, namespace }) },
});
