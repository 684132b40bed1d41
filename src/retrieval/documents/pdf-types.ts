/** The document and the page of PDF.js, whose types are not exported by name. */
import type { getDocumentProxy } from "unpdf";

export type PDFDocumentProxy = Awaited<ReturnType<typeof getDocumentProxy>>;
export type PDFPageProxy = Awaited<ReturnType<PDFDocumentProxy["getPage"]>>;
