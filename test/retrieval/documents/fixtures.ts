/** The files of `test/fixtures/documents`, whose README names the programs that wrote them. */
import encryptedPdf from "../../fixtures/documents/encrypted.pdf?inline";
import minutesDocx from "../../fixtures/documents/minutes.docx?inline";
import pricesNumbers from "../../fixtures/documents/prices.numbers?inline";
import pricesOds from "../../fixtures/documents/prices.ods?inline";
import pricesXls from "../../fixtures/documents/prices.xls?inline";
import pricesXlsb from "../../fixtures/documents/prices.xlsb?inline";
import pricesXlsm from "../../fixtures/documents/prices.xlsm?inline";
import pricesXlsx from "../../fixtures/documents/prices.xlsx?inline";
import redPng from "../../fixtures/documents/red.png?inline";
import reportDocx from "../../fixtures/documents/report.docx?inline";
import reportOdt from "../../fixtures/documents/report.odt?inline";
import taggedPdf from "../../fixtures/documents/tagged.pdf?inline";
import untaggedPdf from "../../fixtures/documents/untagged.pdf?inline";

const FILES = {
	"encrypted.pdf": encryptedPdf,
	"minutes.docx": minutesDocx,
	"prices.et": pricesXls,
	"prices.numbers": pricesNumbers,
	"prices.ods": pricesOds,
	"prices.xls": pricesXls,
	"prices.xlsb": pricesXlsb,
	"prices.xlsm": pricesXlsm,
	"prices.xlsx": pricesXlsx,
	"red.png": redPng,
	"report.docx": reportDocx,
	"report.odt": reportOdt,
	"tagged.pdf": taggedPdf,
	"untagged.pdf": untaggedPdf,
};
export type FixtureName = keyof typeof FILES;
export const FIXTURE_NAMES = Object.keys(FILES) as FixtureName[];

export const fixture = (name: FixtureName): Uint8Array =>
	Uint8Array.fromBase64(FILES[name].slice(FILES[name].indexOf(",") + 1));
