/** A copy of a part of a text. The part itself would keep all of the text in memory. */
import { Buffer } from "node:buffer";

export const copied = (part: string): string => Buffer.from(part).toString();
