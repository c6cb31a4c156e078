"""Whole files of every kind that people bring, as small as they may be."""

from __future__ import annotations

import json

PLAN = """name = "fuzzed"
seed = 7
budget = { calls = 100, usd = 1.5 }
[services.a]
use = "round-trip"
via = ["es", "ca"]
translator = { use = "http", url = "http://127.0.0.1:9/", request = { q = "{text}" }, response = "a.0" }
[services.b]
use = "anchor"
behaviour = "coin"
[[experiments]]
method = "two-step"
services = ["a", "b"]
texts = 40
margin = 0.15
[profiles.mine]
order = ["abuse", "bias"]
"""
TABLE = 'id,text,score\n1,"He, she",0.5\n2,Ein Satz,-1\n3,,0\n'
LINES = '{"id": 1, "text": "He said \\"no\\""}\n{"id": 2, "text": null, "more": [1, {"a": 2}]}\n'
DIALOGS = 'dialog,speaker,text\na,user,Hi\na,bot,"Yes, I am."\nb,bot,Welcome!\na,bot,What?\n'
GUIDED = json.dumps(
    [
        {
            "dialogue_id": "1",
            "turns": [{"speaker": "USER", "utterance": "Hi"}, {"speaker": "SYSTEM", "utterance": "Yes"}],
        }
    ]
)
LOG = "[10:00] <ann> how do I do it?\n[10:01] <bob> ann: like this\n[10:02] <ann> bob: thanks\n"
LOGGED = "2004-11-23T11:49:00.000Z\tann\t\thow?\n2004-11-23T11:50:00.000Z\tbob\tann\tlike this\n"
RANKED = "person,IL,AL,B,CC,profile,agrees\np1,1,2,3,4,,\np2,2,2,1,,parents,yes\n"
PROPERTIES = (
    "predicate,category,polarity,antonym,zh\nare rich,economy,positive,are poor,很富\nare rude,1,,,\n"
)
SBIC = """targetMinority,targetStereotype
"[""women""]","[""women are weak"", ""women lie""]"
black folks,are poor
"""
STEREOSET = json.dumps(
    {
        "data": {
            "intrasentence": [
                {
                    "target": "nurse",
                    "sentences": [{"gold_label": "stereotype", "sentence": "The nurse is a she."}],
                }
            ]
        }
    }
)
GROUPS = "category,group,translate\ngender,men,男人\ngender,women,女人\nage,old people,老人\n"
AXES = json.dumps(
    {"age": {"old": ["aged", {"descriptor": "elderly", "preference": "dispreferred"}]}, "body": ["tall"]}
)
PEOPLE = "text,a,b\nShe is kind.,1,1\nHe is kind.,0,-1\nThey left.,NA,1\n"
SENTENCES = """ID,Sentence,Template,Person,Gender,Race,Emotion,Emotion word
1,Ann feels sad.,<p> feels <e>,Ann,female,,sadness,sad
2,Bob feels sad.,<p> feels <e>,Bob,male,,sadness,sad
"""
TALKS = "conversation,speaker,gender,text\nc1,user,male,Hello there\nc1,bot,NA,Hi\nc2,user,female,Good day\n"
WATCH = json.dumps({"schema": "trustgauge.watch/1", "series": {}, "plan": "abc", "name": "mine", "most": 5})
TOML = '[en]\naffirmation = ["yes", "I think so"]\nnegation = ["no"]\n[zh]\nrefusal = ["不知道"]\n'
RIVE = """! version = 2.0
+ hello bot
- Hi {weight=2}
- Hello

+ my name is *
- <set name=<star>>Hi <get name>

+ *
- What?
"""
AIML = """<?xml version="1.0" encoding="UTF-8"?>
<aiml version="1.0"><category><pattern>HELLO *</pattern><template>Hi <star/></template></category></aiml>
"""
TRANSCRIPT = """{"dialog": "d", "turn": 1, "speaker": "user", "text": "Hi"}
{"dialog": "d", "turn": 1, "speaker": "bot", "text": "Yes"}
"""
EVENTS = '{"event": "plan", "at": "2026-01-01T00:00:00Z", "total": 3}\n{"event": "done"}\n'
HUTTO = "1\t0.8\t[1, 2, 1]\tWhat a day\n2\t-1.5\t[-1, -2]\tSad\n"
MANIFEST = json.dumps(
    {"schema": "trustgauge.manifest/1", "id": "TG-2026-0101-abcd", "plan": "abcd", "fresh": False}
)
CHAT = json.dumps(
    {
        **{
            "schema": "trustgauge.chat/1",
            "service": "a",
            "runs": ["TG-2026-0101-abcd"],
            "profile": "default",
        },
        **{"began": "2026-01-01T00:00:00Z", "settings": {"use": "eliza"}, "experiment": {}, "seed": 1},
    }
)
SHEET = ("id", "text", "answer")
ROWS = ({"id": "q1", "text": "Who?", "answer": "Both."}, {"id": "q2", "text": "=1+1", "answer": ""})
