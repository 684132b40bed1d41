import { INPUT_FAMILIES as INPUTS, OUTPUT_FAMILIES as OUTPUTS } from "../../../src/models/families.ts";
import { inputRow, outputRow } from "../detect-language.ts";

export const INPUT_FAMILIES = { ...INPUTS, "detect-language": inputRow };
export const OUTPUT_FAMILIES = { ...OUTPUTS, language: outputRow };
