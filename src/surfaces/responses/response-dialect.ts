/** The models and the format of `/responses`. */
import { otherDialects } from "../../dialects/index.ts";
import type { RouteDialect } from "../../dialects/route-dialect.ts";

export const RESPONSES_DIALECT: RouteDialect = {
	dialect: async () => (await otherDialects()).responses,
	task: "Text Generation",
};
