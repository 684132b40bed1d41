/** Runs a model with the complete fields of a Responses request. The callers of this API may send a hosted search tool. */
import { withWebSearch } from "../websearch/with-web-search.ts";

export const runOnce = withWebSearch("responses");
