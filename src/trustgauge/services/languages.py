"""Languages: names and codes, and what each translation service calls them.

A plan names languages by ISO 639-1 (two letters) or ISO 639-3 (three letters), where a service
tells variants apart with a region or script behind it (`pt-BR`, `zh-Hant`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

# ISO 639-1, ISO 639-3, English name.
_TABLE = """
aa aar Afar; ab abk Abkhazian; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic;
an arg Aragonese; ar ara Arabic; as asm Assamese; av ava Avaric; ay aym Aymara; az aze Azerbaijani;
ba bak Bashkir; be bel Belarusian; bg bul Bulgarian; bi bis Bislama; bm bam Bambara; bn ben Bengali;
bo bod Tibetan; br bre Breton; bs bos Bosnian; ca cat Catalan; ce che Chechen; ch cha Chamorro;
co cos Corsican; cr cre Cree; cs ces Czech; cu chu Church Slavic; cv chv Chuvash; cy cym Welsh;
da dan Danish; de deu German; dv div Dhivehi; dz dzo Dzongkha; ee ewe Ewe; el ell Greek;
en eng English; eo epo Esperanto; es spa Spanish; et est Estonian; eu eus Basque; fa fas Persian;
ff ful Fulah; fi fin Finnish; fj fij Fijian; fo fao Faroese; fr fra French; fy fry Western Frisian;
ga gle Irish; gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani; gu guj Gujarati; gv glv Manx;
ha hau Hausa; he heb Hebrew; hi hin Hindi; ho hmo Hiri Motu; hr hrv Croatian; ht hat Haitian Creole;
hu hun Hungarian; hy hye Armenian; hz her Herero; ia ina Interlingua; id ind Indonesian;
ie ile Interlingue; ig ibo Igbo; ii iii Sichuan Yi; ik ipk Inupiaq; io ido Ido; is isl Icelandic;
it ita Italian; iu iku Inuktitut; ja jpn Japanese; jv jav Javanese; ka kat Georgian; kg kon Kongo;
ki kik Kikuyu; kj kua Kuanyama; kk kaz Kazakh; kl kal Greenlandic; km khm Khmer; kn kan Kannada;
ko kor Korean; kr kau Kanuri; ks kas Kashmiri; ku kur Kurdish; kv kom Komi; kw cor Cornish;
ky kir Kyrgyz; la lat Latin; lb ltz Luxembourgish; lg lug Ganda; li lim Limburgish; ln lin Lingala;
lo lao Lao; lt lit Lithuanian; lu lub Luba-Katanga; lv lav Latvian; mg mlg Malagasy;
mh mah Marshallese; mi mri Maori; mk mkd Macedonian; ml mal Malayalam; mn mon Mongolian;
mr mar Marathi; ms msa Malay; mt mlt Maltese; my mya Burmese; na nau Nauru; nb nob Norwegian Bokmål;
nd nde North Ndebele; ne nep Nepali; ng ndo Ndonga; nl nld Dutch; nn nno Norwegian Nynorsk;
no nor Norwegian; nr nbl South Ndebele; nv nav Navajo; ny nya Chichewa; oc oci Occitan; oj oji Ojibwa;
om orm Oromo; or ori Odia; os oss Ossetian; pa pan Punjabi; pi pli Pali; pl pol Polish; ps pus Pashto;
pt por Portuguese; qu que Quechua; rm roh Romansh; rn run Rundi; ro ron Romanian; ru rus Russian;
rw kin Kinyarwanda; sa san Sanskrit; sc srd Sardinian; sd snd Sindhi; se sme Northern Sami;
sg sag Sango; si sin Sinhala; sk slk Slovak; sl slv Slovenian; sm smo Samoan; sn sna Shona;
so som Somali; sq sqi Albanian; sr srp Serbian; ss ssw Swati; st sot Southern Sotho;
su sun Sundanese; sv swe Swedish; sw swa Swahili; ta tam Tamil; te tel Telugu; tg tgk Tajik;
th tha Thai; ti tir Tigrinya; tk tuk Turkmen; tl tgl Tagalog; tn tsn Tswana; to ton Tongan;
tr tur Turkish; ts tso Tsonga; tt tat Tatar; tw twi Twi; ty tah Tahitian; ug uig Uyghur;
uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda; vi vie Vietnamese; vo vol Volapük;
wa wln Walloon; wo wol Wolof; xh xho Xhosa; yi yid Yiddish; yo yor Yoruba; za zha Zhuang;
zh zho Chinese; zu zul Zulu; sh hbs Serbo-Croatian
"""

# Languages without a code of two letters that translation services know.
_LONG = """
ast Asturian; bho Bhojpuri; ceb Cebuano; ckb Central Kurdish; crh Crimean Tatar; fil Filipino;
frp Franco-Provençal; fur Friulian; haw Hawaiian; hmn Hmong; ilo Iloko; lij Ligurian; mai Maithili;
mni Manipuri; mhr Eastern Mari; nds Low German; nso Northern Sotho; pap Papiamento; sah Yakut;
sat Santali; scn Sicilian; sma Southern Sami; smj Lule Sami; szl Silesian; udm Udmurt; vec Venetian;
yue Cantonese
"""

# Single languages that services give under the code of their group.
_WITHIN = """
arb ar; als sq; azj az; cmn zh; ekk et; gug gn; khk mn; kmr ku; lvs lv; npi ne; ory or; pes fa;
plt mg; swh sw; uzn uz; ydd yi; zsm ms
"""


def _rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.replace("\n", " ").split(";")]


_THREE = {row[0]: row[1] for row in _rows(_TABLE)}
_TWO = {long: short for short, long in _THREE.items()} | {row[0]: row[1] for row in _rows(_WITHIN)}
_NAMES = {row[0]: " ".join(row[2:]) for row in _rows(_TABLE)} | {
    row[0]: " ".join(row[1:]) for row in _rows(_LONG)
}
_FORM = re.compile(r"([a-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?")


def name(code: str) -> str:
    """The English name of a language, with region or script if the code has one.

    A code that is not in our table is its own name.

    >>> name("tr"), name("epo"), name("pt-BR"), name("xyz")
    ('Turkish', 'Esperanto', 'Portuguese (BR)', 'xyz')
    """
    base, *rest = re.split("[-_]", code, maxsplit=1)
    found = _NAMES.get(short(base))
    if found is None:
        return code
    return f"{found} ({rest[0]})" if rest else found


def short(code: str) -> str:
    """The code of two letters if the language has one, else the code as it is. Regions stay.

    >>> short("spa"), short("cmn"), short("ast"), short("por-BR")
    ('es', 'zh', 'ast', 'pt-BR')
    """
    return _TWO.get(code[:3], code[:3]) + code[3:] if len(code) == 3 or code[3:4] in {"-", "_"} else code


def long(code: str) -> str:
    """The code of three letters (ISO 639-3). Regions stay.

    >>> long("es"), long("ast"), long("pt-BR")
    ('spa', 'ast', 'por-BR')
    """
    return _THREE.get(code[:2], code[:2]) + code[2:] if len(code) == 2 or code[2:3] in {"-", "_"} else code


def language_names() -> Mapping[str, str]:
    """English names of all languages of our table by code (two letters where there are)."""
    return dict(_NAMES)


def check(code: str) -> str:
    """The code itself if it can be that of a language.

    Three letters pass whether we know the language or not (ISO 639-3 has more than 7,000).

    Raises:
        ValueError: it has not the form of a code, or two letters that ISO 639-1 does not have;
            the message says what it must be and the nearest valid code.
    """
    found = _FORM.fullmatch(code)
    if found is not None and (len(found[1]) == 3 or found[1] in _THREE):
        return code
    by_name = {words.lower(): key for key, words in _NAMES.items()}
    near = [by_name[word] for word in get_close_matches(code.lower(), by_name, n=1, cutoff=0.8)]
    near += get_close_matches(code.lower(), _THREE, n=1, cutoff=0.5) if len(code) < 4 else []
    hint = f'. Did you mean "{near[0]}" ({_NAMES[near[0]]})?' if near else ""
    raise ValueError(
        f'no language "{code}": must be a code of ISO 639-1 or 639-3, such as "tr" or "tur"{hint}'
    )


def native(code: str, own: Mapping[str, str], *, letters: int = 2) -> str:
    """What a service calls a language.

    Args:
        code: ISO 639-1 or 639-3, with or without region.
        own: the service's codes where they differ from ISO 639; by code of two letters where
            there is one. A code with a region is looked up whole first.
        letters: 2 if the service goes by ISO 639-1 where it can, 3 if by ISO 639-3.
    """
    plain = short(code)
    if plain in own:
        return own[plain]
    return long(plain) if letters == 3 else plain
