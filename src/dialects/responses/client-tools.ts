/**
 * Tools of OpenAI's Responses API that the caller runs and that have item types of their own
 * (platform.openai.com/docs/guides/tools). Engines receive a function with the fields of the item's action, and its calls become
 * these items again. What a model writes is not checked, so a field that is missing or wrong has a neutral value: the caller's
 * tool then reports the error to the model.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";

const text = z.string();
const number = z.number().nullable().catch(null).default(null);
/** Some models write one command as a string. */
const texts = z.union([z.array(text), text.transform((one) => [one])]).catch([]);
const env = z.record(text, text).catch({}).default({});

const ExecAction = z.object({
	type: z.literal("exec").catch("exec").default("exec"),
	command: texts,
	env,
	timeout_ms: number,
	user: text.nullable().catch(null).default(null),
	working_directory: text.nullable().catch(null).default(null),
});
const ShellAction = z.object({ commands: texts, timeout_ms: number, max_output_length: number });
const path = text.catch("");
const Change = z.object({
	type: z.enum(["create_file", "update_file"]).catch("update_file"),
	path,
	diff: text.catch(""),
});
const Deletion = z.object({ type: z.literal("delete_file"), path });
const Operation = z.union([Deletion, Change]);

const status = z.enum(["in_progress", "completed", "incomplete"]);
const call = <Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) =>
	z.object({ id: text, type: z.literal(type), status, call_id: text, ...fields });

export const ClientCall = z.discriminatedUnion("type", [
	call("tool_search_call", { execution: z.literal("client"), arguments: z.record(text, z.unknown()) }),
	call("local_shell_call", { action: ExecAction }),
	call("shell_call", { action: ShellAction, environment: z.null() }),
	call("apply_patch_call", { status: status.exclude(["incomplete"]), operation: Operation }),
]);
export type ClientCall = z.output<typeof ClientCall>;

type Fields = Record<string, unknown>;

const CALL_SUFFIX = "_call";

interface ClientTool {
	/** Whether the caller runs it. Absent: always. */
	isClients?(tool: Fields): boolean;
	idPrefix: string;
	description: string;
	/** The JSON Schema of its arguments, if the tool has none. */
	parameters: Fields;
	/** The arguments of a call in the history. */
	argumentsOf(item: Fields): unknown;
	/** The fields of an item. */
	fieldsOf(args: Fields): Fields;
}

const list = { type: "array", items: { type: "string" } };
const schema = (properties: Fields, required: readonly string[]): Fields => ({
	type: "object",
	properties,
	required,
});

const CLIENT_TOOLS = {
	tool_search: {
		isClients: ({ execution }) => execution === "client",
		idPrefix: "tsc",
		description: "Searches for tools. The tools that it finds can be called afterwards.",
		parameters: schema({ query: { type: "string" } }, ["query"]),
		argumentsOf: ({ arguments: args }) => args,
		fieldsOf: (args) => ({ execution: "client", arguments: args }),
	},
	local_shell: {
		idPrefix: "lsh",
		description: "Runs a command on the user's computer and returns its output.",
		parameters: schema(
			{
				command: { ...list, description: "The program and its arguments." },
				env: { type: "object", additionalProperties: { type: "string" } },
				timeout_ms: { type: "integer" },
				working_directory: { type: "string" },
			},
			["command"],
		),
		argumentsOf: ({ action }) => withoutType(action),
		fieldsOf: (args) => ({ action: args }),
	},
	shell: {
		// In a container of OpenAI the provider runs it.
		isClients: ({ environment }) => !isRecord(environment) || environment.type === "local",
		idPrefix: "sh",
		description: "Runs commands in a shell on the user's computer and returns their output.",
		parameters: schema(
			{ commands: list, timeout_ms: { type: "integer" }, max_output_length: { type: "integer" } },
			["commands"],
		),
		argumentsOf: ({ action }) => action,
		fieldsOf: (args) => ({ action: args, environment: null }),
	},
	apply_patch: {
		idPrefix: "apc",
		description: "Creates, updates or deletes one file. The diff has the V4A format.",
		parameters: schema(
			{
				type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
				path: { type: "string" },
				diff: { type: "string", description: "Absent for delete_file." },
			},
			["type", "path"],
		),
		argumentsOf: ({ operation }) => operation,
		fieldsOf: (args) => ({ operation: args }),
	},
} as const satisfies Record<string, ClientTool>;
export type ClientToolName = keyof typeof CLIENT_TOOLS;

function withoutType(action: unknown): unknown {
	if (!isRecord(action)) return action;
	const { type: _, ...fields } = action;
	return fields;
}

const toolOf = (name: string): ClientTool | undefined => own<ClientTool>(CLIENT_TOOLS, name);

export function isClientTool<Tool extends { type: string; [field: string]: unknown }>(
	tool: Tool,
): tool is Tool & { type: ClientToolName } {
	const row = toolOf(tool.type);
	return row !== undefined && (row.isClients?.(tool) ?? true);
}

/** The function for the engine. The caller's description and parameters replace those of the table. */
export function clientFunction(tool: { type: ClientToolName; [field: string]: unknown }): Fields {
	const { description, parameters }: ClientTool = CLIENT_TOOLS[tool.type];
	return {
		type: "function",
		name: tool.type,
		description: typeof tool.description === "string" ? tool.description : description,
		parameters: isRecord(tool.parameters) ? tool.parameters : parameters,
	};
}

/** The arguments of a call of the history: those of its tool, or all its fields. */
export const argumentsOfCall = (name: string, fields: Fields): unknown =>
	toolOf(name)?.argumentsOf(fields) ?? fields;

/** A call whose arguments are not known yet. */
export const newClientCall = (kind: ClientToolName, uuid: string, call_id: string): ClientCall =>
	ClientCall.parse({
		id: `${CLIENT_TOOLS[kind].idPrefix}_${uuid.replaceAll("-", "")}`,
		type: `${kind}${CALL_SUFFIX}`,
		status: "in_progress",
		call_id,
		...CLIENT_TOOLS[kind].fieldsOf({}),
	});

export function setClientArguments(item: ClientCall, args: Record<string, unknown>): void {
	const kind = item.type.slice(0, -CALL_SUFFIX.length) as ClientToolName; // as in `newClientCall`
	Object.assign(item, ClientCall.parse({ ...item, ...CLIENT_TOOLS[kind].fieldsOf(args) }));
}
