/** The stored items that a summary replaces (`context_management`): a later request gets the rules for the model among them, and no other. */
import { isInstruction, REPLACING_SUMMARY_JSON } from "../../dialects/responses/summary.ts";
import { conditionOf, type ItemRange, textKey } from "./item-rows.ts";
import type { LongTexts } from "./long-texts.ts";

export class SummarizedItems {
	readonly #sql: SqlStorage;
	readonly #texts: LongTexts;

	constructor(sql: SqlStorage, texts: LongTexts) {
		this.#sql = sql;
		this.#texts = texts;
	}

	/** The row of the last summary in a conversation. */
	lastSummary(conversation: string): number | undefined {
		const { seq } = this.#sql
			.exec<{ seq: number | null }>(
				"SELECT max(seq) AS seq FROM items WHERE conversation = ? AND instr(json, ?) > 0",
				conversation,
				REPLACING_SUMMARY_JSON,
			)
			.one();
		return seq ?? undefined;
	}

	/** The rules among the rows, or among those of a conversation, before the row `summary`. As JSON. */
	rulesBefore(rows: ItemRange | string, summary = Number.MAX_SAFE_INTEGER): string[] {
		const [condition, values] = conditionOf(rows);
		const found = this.#sql.exec<{ seq: number; json: string }>(
			`SELECT seq, json FROM items WHERE ${condition} AND seq < ? AND reference = 0
			AND (instr(json, '"role":"system"') OR instr(json, '"role":"developer"') OR instr(json, '"additional_tools"'))
			ORDER BY seq`,
			...values,
			summary,
		);
		return [...found].map(({ seq, json }) => this.#texts.read(textKey(seq), json)).filter(isRule);
	}
}

const isRule = (json: string): boolean => isInstruction(JSON.parse(json) as object);

/** The items from the last summary on, and the rules before it. `undefined`: there is no summary. */
export function afterSummary(items: readonly string[]): string[] | undefined {
	const last = items.findLastIndex((json) => json.includes(REPLACING_SUMMARY_JSON));
	return last < 0 ? undefined : items.filter((json, index) => index >= last || isRule(json));
}
