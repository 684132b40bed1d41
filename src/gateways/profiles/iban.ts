/** Numbers of bank accounts (ISO 13616). */

/** The length of an IBAN by country: https://www.swift.com/standards/data-standards/iban-international-bank-account-number */
const LENGTHS: ReadonlyMap<string, number> = new Map(
	(
		"AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 " +
		"GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 " +
		"MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 " +
		"TN24 TR26 UA29 VA22 VG24 XK20"
	)
		.split(" ")
		.map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** Whether the text begins with an IBAN. It may contain spaces. */
export function beginsWithIban(text: string): boolean {
	const compact = text.replaceAll(" ", "");
	const length = LENGTHS.get(compact.slice(0, 2));
	if (length === undefined || compact.length < length) return false;
	const rotated = compact.slice(4, length) + compact.slice(0, 4);
	let remainder = 0;
	for (const character of rotated) {
		const value = Number.parseInt(character, 36);
		remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
	}
	return remainder === 1;
}
