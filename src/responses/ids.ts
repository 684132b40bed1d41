/** Ids of OpenAI's shape: a prefix and hexadecimal digits. */
import { own } from "../core/own.ts";

type IdPrefix = "resp" | "conv" | "msg" | "rs" | "fc" | "fco" | "ctc" | "ctco" | "cmp" | "item";

export const newId = (prefix: IdPrefix, uuid: () => string): string =>
	`${prefix}_${uuid().replaceAll("-", "")}`;

const ITEM_PREFIXES: Readonly<Record<string, IdPrefix>> = {
	message: "msg",
	reasoning: "rs",
	function_call: "fc",
	function_call_output: "fco",
	custom_tool_call: "ctc",
	custom_tool_call_output: "ctco",
	compaction: "cmp",
};

/** The prefix for an item of a type. */
export const itemPrefix = (type: string): IdPrefix => own(ITEM_PREFIXES, type) ?? "item";
