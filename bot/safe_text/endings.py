"""Endings of domain names, by which a name without scheme and path is taken for an address, as
channels take it."""

from __future__ import annotations

COUNTRIES = """
ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw
by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et
eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie
il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv
ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr
nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl
sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz
va vc ve vg vi vn vu wf ws ye yt za zm zw
"""
GENERIC = """
academy accountant accountants actor adult aero africa agency airforce amsterdam apartments app
army arpa art asia associates attorney auction audio auto autos baby band bank bar barcelona
bargains baseball basketball beauty beer berlin best bet bible bid bike bingo bio biz black blog
blue boats bond book boston bot boutique box broker brussels build builders business buy buzz cab
cafe camera camp capital car cards care career careers cars casa cash casino cat catering center
ceo cfd channel charity chat cheap christmas church city claims cleaning click clinic clothing
cloud club coach codes coffee college cologne com community company compare computer condos
construction consulting contact contractors cooking cool coop country coupon coupons courses cpa
credit creditcard cricket cruises cyou dad dance data date dating day deal dealer deals degree
delivery democrat dental dentist design dev diamonds diet digital direct directory discount dog
domains download earth eco edu education email energy engineer engineering enterprises equipment
esq estate events exchange expert exposed express fail faith family fan fans farm fashion film
final finance financial fish fishing fit fitness flights florist flowers foo food football forex
forsale forum foundation free fun fund furniture futbol fyi gallery game games garden gay gdn gift
gifts gives giving glass global gmbh gold golf google gov graphics gratis green gripe group guide
guitars guru hair hamburg haus health healthcare help hiphop hiv hockey holdings holiday homes
horse hospital host hosting hot house how icu immo immobilien inc industries info ing ink
institute insurance insure int international investments irish istanbul jetzt jewelry jobs juegos
kaufen kids kim kitchen kiwi kyoto land lat latino law lawyer lease legal lgbt life lighting
limited limo link live living llc llp loan loans locker lol london lotto love ltd luxe luxury
maison makeup management map market marketing markets mba media melbourne meme memorial men menu
miami mil mobi moda moe moi mom money monster mortgage motorcycles mov movie museum music nagoya
name navy net network new news nexus ngo ninja nyc observer okinawa one ong online ooo org osaka
page paris partners parts party pet phd photo photography photos pics pictures pink pizza place
plumbing plus poker porn post press pro productions prof promo properties property protection pub
quebec quest racing realestate realty recipes red rehab reise reisen rent rentals repair report
republican rest restaurant review reviews rich rip rocks rodeo room rsvp rugby ruhr run ryukyu
sale salon sap sarl save saxony school schule science search security select services sex sexy
shiksha shoes shop shopping show singles site ski skin soccer social software solar solutions soy
spa space sport spot storage store stream studio study style sucks supplies supply support surf
surgery sydney systems taipei talk tattoo tax taxi team tech technology tel tennis theater theatre
tickets tienda tips tires today tokyo tools top tours town toyota toys trade trading training
travel trust tube university uno vacations vegas ventures vet viajes video villas vin vip vision
vodka vote voting voto voyage wales watch watches weather web webcam website wedding wien wiki win
wine work works world wow wtf xin xxx xyz yachts yoga yokohama you zip zone
"""
# Kept for examples, tests and networks of one's own.
RESERVED = "alt example home internal invalid lan local localhost onion test"

ENDINGS = frozenset(f"{COUNTRIES} {GENERIC} {RESERVED}".split())
# Of these, what is far oftener a file's name. A name of two labels tells nothing but itself.
OF_FILES = frozenset({"cc", "md", "mov", "pl", "ps", "py", "rs", "sh", "so", "zip"})
