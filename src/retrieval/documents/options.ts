/**
 * The schema of `conversionOptions` (developers.cloudflare.com/workers-ai/features/markdown-conversion/conversion-options).
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";

const MAX_HOSTNAME = 300;
const MAX_SELECTOR = 1000;

const language = lazy(() => z.enum(["en", "es", "fr", "it", "pt", "de"]));
const images = lazy(() =>
	z.object({
		convert: z.boolean().optional(),
		maxConvertedImages: z.number().optional(),
		descriptionLanguage: language().optional(),
		convertOGImage: z.boolean().optional(),
	}),
);

export const ConversionOptions = lazy(() =>
	z.object({
		output: z.object({ format: z.enum(["markdown", "text"]).optional() }).optional(),
		image: z.object({ descriptionLanguage: language().optional() }).optional(),
		html: z
			.object({
				images: images().optional(),
				hostname: z.string().max(MAX_HOSTNAME).optional(),
				cssSelector: z.string().max(MAX_SELECTOR).optional(),
			})
			.optional(),
		docx: z.object({ images: images().optional() }).optional(),
		pdf: z.object({ metadata: z.boolean().optional(), images: images().optional() }).optional(),
	}),
);

export type ConversionOptions = z.output<ReturnType<typeof ConversionOptions>>;
