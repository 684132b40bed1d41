/** Bodies that name their model, as OpenAI's and Anthropic's do. */
import * as z from "zod";
import { validate } from "../dialects/validation/validation.ts";

const NamesModel = z.looseObject({ model: z.string().min(1) });

/** As it came: the schema, which would copy it, only finds the words for what is wrong. Throws 5006. */
export function namesModel(sent: unknown): { model: string } {
	const named = typeof sent === "object" && sent !== null && "model" in sent ? sent.model : undefined;
	return typeof named === "string" && named !== "" ? (sent as { model: string }) : validate(NamesModel, sent);
}
