import { READERS as OWN_READERS, WRITERS as OWN_WRITERS } from "../../../src/dialects/families.ts";
import { detectLanguageReader, languageWriter } from "../detect-language.ts";

export { LIVE } from "../../../src/dialects/families.ts";
export const READERS = { ...OWN_READERS, "detect-language": detectLanguageReader };
export const WRITERS = { ...OWN_WRITERS, language: languageWriter };
