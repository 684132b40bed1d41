/** The Worker in the process of conversions (`scripts/documents/`). It has no bindings and no network. */
import { answerConversion } from "./answer-conversion.ts";

export default { fetch: answerConversion } satisfies ExportedHandler;
