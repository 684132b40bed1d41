import * as z from "zod";
import { lazy } from "../core/lazy.ts";

/** A boolean of a query or of a form, whose values are texts. */
export const textFlag = lazy(() => z.enum(["true", "false"]).transform((text) => text === "true"));
